// Package service serves a store over HTTP, on TCP addresses and unix sockets: routes, bounds, the OpenAPI document, and a
// stop that drains. What a route does is said by the packages of the two stores, segmentserver and messageserver.
//
// # What it promises
//
//   - It adds no promise about what is stored, and takes none away: a request that changes something calls the store once,
//     and its answer is the store's. No request is repeated. When a client leaves, an append that has begun goes on.
//   - Failures are documents (package wire) with one class each. An answer with another status than wire.OutcomeUnknown's
//     that is a document says that nothing was stored; of no answer at all, nothing is known.
//   - Each bound has a name in Config, and what is beyond it is refused at once: Busy for requests and waits, TooLarge for
//     bodies. Only connections beyond ConnectionsMax wait to be accepted.
//   - /openapi.json is made of the routes themselves: parameters are checked by what the document says of them, and schemas
//     are those of the Go types that are encoded. A parameter that is not in it is refused.
//   - Serve returns when its context has ended, every request has its answer, and no task of it is left, or after DrainMax
//     with ErrDrainOverdue. Requests that wait for messages are answered at once then, with what is there.
//
// # What it does not promise
//
//   - No encryption and no accounts: listen on the loopback or on a unix socket, whose file only its owner may open
//     (Config.SocketMode), or put a proxy in front. A proxy must not repeat requests.
//   - A wait of the segment log whose client has left holds its slot until it ends, WaitMax of its server at most: that store's waits
//     cannot be interrupted one by one. Those of the commit log end with their client.
//
// # Tasks
//
// net/http's, and one for each wait under way. They end before Serve returns. Serve does not own the store: whoever opened it
// closes it when Serve has returned, and calls Join behind that, which waits for waits that were left.
//
// # What survives a crash
//
// Nothing is stored here. A unix socket's file may be left: the next start replaces it if nobody listens there.
package service
