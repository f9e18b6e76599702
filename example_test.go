package lakebed_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"time"

	"lakebed"
)

// startExample starts what the other examples use: three bookies and a metadata server in this process, and a store. A
// program that runs against a cluster calls lakebed.Open with the addresses of its metadata servers instead.
func startExample(ctx context.Context) (*lakebed.Local, *lakebed.Store) {
	local, err := lakebed.StartLocal(ctx, lakebed.LocalOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	store, err := local.Open(ctx)
	if err != nil {
		log.Fatal(err)
	}
	return local, store
}

// Open a store, create a ledger, append to it, close it, and read it back.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	local, err := lakebed.StartLocal(ctx, lakebed.LocalOptions{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	defer local.Close()
	store, err := lakebed.Open(ctx, lakebed.Config{Metadata: local.Metadata()})
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()

	w, err := store.Create(ctx, lakebed.LedgerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for _, text := range []string{"rain", "sun", "snow"} {
		id, err := w.Append(ctx, []byte(text)) // durable once this returns
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println("appended", id)
	}
	if err := w.Close(ctx); err != nil {
		log.Fatal(err)
	}

	r, err := store.Open(ctx, w.ID(), lakebed.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	for entry, err := range r.Entries(ctx, 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%d %s\n", entry.ID, entry.Payload)
	}
	// Output:
	// appended 0
	// appended 1
	// appended 2
	// 0 rain
	// 1 sun
	// 2 snow
}

// Many appends in flight: the bookies sync them together. Outcomes come in order, so that the last one tells of all.
func ExampleWriter_AppendAsync() {
	ctx := context.Background()
	local, store := startExample(ctx)
	defer local.Close()
	defer store.Close()
	w, err := store.Create(ctx, lakebed.LedgerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	var last *lakebed.Pending
	for i := range 1000 {
		last, err = w.AppendAsync(ctx, fmt.Appendf(nil, "entry %d", i))
		if err != nil {
			log.Fatal(err)
		}
	}
	id, err := last.Wait(ctx)
	fmt.Println(id, err)
	// Output: 999 <nil>
}

// The same with a function that gets each outcome.
func ExampleWriter_AppendFunc() {
	ctx := context.Background()
	local, store := startExample(ctx)
	defer local.Close()
	defer store.Close()
	w, err := store.Create(ctx, lakebed.LedgerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	acknowledged := 0
	for i := range 1000 {
		err := w.AppendFunc(ctx, fmt.Appendf(nil, "entry %d", i), func(id lakebed.EntryID, err error) {
			if err == nil {
				acknowledged++ // one call at a time
			}
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	if err := w.Close(ctx); err != nil { // waits for all of them
		log.Fatal(err)
	}
	fmt.Println(acknowledged)
	// Output: 1000
}

// A batch is the simple way to have many appends in flight.
func ExampleWriter_AppendBatch() {
	ctx := context.Background()
	local, store := startExample(ctx)
	defer local.Close()
	defer store.Close()
	w, err := store.Create(ctx, lakebed.LedgerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	ids, err := w.AppendBatch(ctx, [][]byte{[]byte("a"), []byte("b"), []byte("c")})
	fmt.Println(ids, err)
	// Output: [0 1 2] <nil>
}

// Read behind a writer that is still at work, until it closes the ledger.
func ExampleReader_Tail() {
	ctx := context.Background()
	local, store := startExample(ctx)
	defer local.Close()
	defer store.Close()
	w, err := store.Create(ctx, lakebed.LedgerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	r, err := store.OpenNoRecovery(ctx, w.ID(), lakebed.OpenOptions{}) // it does not disturb the writer
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	go func() {
		for i := range 4 {
			if _, err := w.Append(ctx, fmt.Appendf(nil, "line %d", i)); err != nil {
				log.Fatal(err)
			}
		}
		if err := w.Close(ctx); err != nil {
			log.Fatal(err)
		}
	}()
	for entry, err := range r.Tail(ctx, 0) {
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%s\n", entry.Payload)
	}
	fmt.Println("the ledger is closed")
	// Output:
	// line 0
	// line 1
	// line 2
	// line 3
	// the ledger is closed
}

// Take over from a writer that is believed dead. If it still lives it is fenced: nothing that it appends can get behind the
// end that the recovery found.
func ExampleStore_Open_recovery() {
	ctx := context.Background()
	local, store := startExample(ctx)
	defer local.Close()
	defer store.Close()
	old, err := store.Create(ctx, lakebed.LedgerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	if _, err := old.Append(ctx, []byte("the last words")); err != nil {
		log.Fatal(err)
	}

	r, err := store.Open(ctx, old.ID(), lakebed.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	fmt.Printf("closed: %t, last entry: %d\n", r.Closed(), r.LastAddConfirmed())

	_, err = old.Append(ctx, []byte("I am not dead"))
	fmt.Println("the old writer is fenced:", errors.Is(err, lakebed.ErrFenced))
	old.Abandon()
	next, err := store.Create(ctx, lakebed.LedgerOptions{}) // go on in a new ledger
	if err != nil {
		log.Fatal(err)
	}
	id, err := next.Append(ctx, []byte("long live the writer"))
	fmt.Println(id, err)
	// Output:
	// closed: true, last entry: 0
	// the old writer is fenced: true
	// 0 <nil>
}

// Read small entries a hundred at a time, in the memory that they were received in.
func ExampleReader_BorrowBatch() {
	ctx := context.Background()
	local, store := startExample(ctx)
	defer local.Close()
	defer store.Close()
	w, err := store.Create(ctx, lakebed.LedgerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	var payloads [][]byte
	for i := range 250 {
		payloads = append(payloads, fmt.Appendf(nil, "reading %d", i))
	}
	if _, err := w.AppendBatch(ctx, payloads); err != nil {
		log.Fatal(err)
	}
	if err := w.Close(ctx); err != nil {
		log.Fatal(err)
	}
	r, err := store.Open(ctx, w.ID(), lakebed.OpenOptions{})
	if err != nil {
		log.Fatal(err)
	}
	defer r.Close()
	read, size := 0, 0
	for next := lakebed.EntryID(0); next <= r.LastAddConfirmed(); {
		batch, err := r.BorrowBatch(ctx, next, lakebed.BatchLimits{Entries: 100})
		if err != nil {
			log.Fatal(err)
		}
		for _, entry := range batch.Entries {
			read++
			size += len(entry.Payload)
			next = entry.ID + 1
		}
		batch.Release() // the payloads are gone from here on
	}
	fmt.Println(read, "entries,", size, "bytes")
	// Output: 250 entries, 2640 bytes
}

// An append whose context ends has an unknown outcome: the entry may be stored. Whoever needs to know opens the ledger.
func ExampleWriter_Append_deadline() {
	ctx := context.Background()
	local, store := startExample(ctx)
	defer local.Close()
	defer store.Close()
	w, err := store.Create(ctx, lakebed.LedgerOptions{})
	if err != nil {
		log.Fatal(err)
	}
	for i := range 2 { // one of three bookies is enough for nothing
		if err := local.StopBookie(i); err != nil {
			log.Fatal(err)
		}
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	_, err = w.Append(short, []byte("hello?"))
	fmt.Println("outcome unknown:", errors.Is(err, lakebed.ErrOutcomeUnknown))
	fmt.Println("deadline exceeded:", errors.Is(err, context.DeadlineExceeded))
	// Output:
	// outcome unknown: true
	// deadline exceeded: true
}

// List what there is, and look at one ledger more closely.
func ExampleStore_Ledgers() {
	ctx := context.Background()
	local, store := startExample(ctx)
	defer local.Close()
	defer store.Close()
	for range 3 {
		w, err := store.Create(ctx, lakebed.LedgerOptions{Custom: map[string][]byte{"topic": []byte("weather")}})
		if err != nil {
			log.Fatal(err)
		}
		if err := w.Close(ctx); err != nil {
			log.Fatal(err)
		}
	}
	for id, err := range store.Ledgers(ctx) {
		if err != nil {
			log.Fatal(err)
		}
		info, err := store.Stat(ctx, id)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%v, %d copies, topic %s, last entry %d\n", info.State, info.WriteQuorum, info.Custom["topic"], info.LastEntry)
	}
	// Output:
	// CLOSED, 3 copies, topic weather, last entry -1
	// CLOSED, 3 copies, topic weather, last entry -1
	// CLOSED, 3 copies, topic weather, last entry -1
}

// A cluster of a test's own. NoSync spares the disk, as tests may.
func ExampleStartLocal() {
	ctx := context.Background()
	local, err := lakebed.StartLocal(ctx, lakebed.LocalOptions{Bookies: 4, NoSync: true, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		log.Fatal(err)
	}
	defer local.Close()
	store, err := local.Open(ctx)
	if err != nil {
		log.Fatal(err)
	}
	defer store.Close()
	bookies, err := store.Bookies(ctx)
	fmt.Println(len(bookies), err)
	// Output: 4 <nil>
}
