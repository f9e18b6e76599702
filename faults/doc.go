// Package faults is the fault plan: what breaks in a simulated world, where, and at which moment. It knows the world
// (package sim) and nothing of what runs in it.
//
// # A plan is data
//
// A Plan is a list of elements, and an Element says when (Trigger), what (Kind, Params) and where (Target). It can be
// drawn from a seed (Draw), written by hand, saved, loaded, cut down by a shrinker (Without, Only, OnlyKinds, Before) and
// carried out by a Driver. Elements do not know each other: each draws from a random stream named after its ID, so that
// taking one away changes nothing in the others.
//
// # Triggers
//
//	at         a virtual time
//	visit      the n-th time a node comes to a point (a mark or a question of its probe), over all its processes; or any node
//	operation  the n-th operation of a kind on a volume of a node, perhaps only on files that match a pattern
//
// Visits and operations trigger inside the very task that came there, before it goes on: a node that crashes at its
// third visit of a point executes nothing behind that point. An element triggers once.
//
// # Kinds
//
//	kill power-cut stop               the process, the machine, the operator; the node comes back after restart_after
//	pause                             the process stands still
//	clock-jump clock-drift            the wall clock jumps either way; both clocks run too fast or too slow
//	memory-pressure                   the page cache holds nothing: reads go to the device and see the media
//	read-error write-error            operations fail: the next few (times), for a while (for), or each k-th (every)
//	sync-error syncdir-error          a failed sync of a file also marks its pages clean, as kernels do
//	short-read short-write            legal results that loops must handle
//	no-space slow-disk stuck-disk     the volume is full, slow, or silent for a while
//	bit-rot latent                    permanent damage of synced bytes: needs an Allowance. Rot is sticky, and a worn place rots
//	                                  again when it is rewritten (again); latent errors come in neighbourhoods (times, for)
//	lost-write misdirected-write      a page that a sync acknowledges stays old; it lands at another place: likewise
//	lying-sync                        syncs succeed and keep nothing from a power cut: likewise
//	wipe                              a power cut, then a start with empty disks under the same name: needs one too
//	partition one-way-partition       bytes wait
//	reset stall slow-link refuse      connections break, halt, crawl; dials are refused
//	clog swizzle                      no byte comes or goes; half of all nodes are clogged so, in unrelated orders
//	slow-receiver                     a node takes long over each read of a socket
//	perhaps                           a question of the probe is answered with yes
//
// Connections that go silent (half-open) are not a kind: sim draws them at each power cut, as its network profile says.
//
// # Aims
//
// Half of a plan may be aimed (Shape.Aims): at moments that a plan cannot name by node and time, as when a bookie has just
// joined an ensemble. Such an element waits for a visit of any node, and its target is the visitor, or a node that the mark
// names. It is known when the element fires.
//
// # Damage
//
// Two things keep it within what a promise must survive. The Allowance says at drawing which nodes may be damaged at all.
// Actions.Allow is asked again before bytes are destroyed, with the very place, and has the last word. DamageLedger holds
// what was destroyed and what was spared.
//
// # Chance
//
// Where Driver.UseChance was called, the probe's questions are also answered with yes at random: the seed arms some
// points, each with a rate of its own. Each such answer is written back as an explicit element. Driver.Fired returns the
// whole plan, and a world that is driven by it without chance has the same trace.
//
// # Whom to tell
//
// The world has one hook for marks and one for questions, and both belong to the trial. It passes them on to
// Driver.OnMark and Driver.Perhaps, from the first moment on. The hooks of targeted volumes belong to the driver.
//
// # Ownership
//
// A Driver belongs to one world and is used from its hooks and callbacks only. It starts a node again through
// Actions.Restart, always between tasks, and only a node that it took down itself and that is still down.
package faults
