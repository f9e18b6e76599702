// Package service brings a metadata tree to clients over the network: Server holds a memory.Tree, Client is a
// metadata.Store.
//
// # What the server promises
//
//   - Requests of one connection are done in order, and answered in order. A change is answered after it was made.
//   - A session belongs to the connection that last said Hello for it; the one before is cut. So no request of a session
//     is done after a later connection of it was welcomed.
//   - Within a session a client that has seen a state is not served from an older one: Hello says the newest index it has
//     seen, and a server that knows the session and is behind refuses.
//   - Log lines that clients can cause are bounded by Config.PeerLog, and what is left out is counted.
//   - Memory is bounded by Config and memory.Limits. A connection that does not take its answers is not read from, and one
//     whose Hello is not there in time is closed, however lively it drips.
//
// The server keeps everything in memory and loses it when it ends. Server.commit is the one place through which changes
// go; a log belongs there.
//
// # What the client promises
//
// What metadata.Store says. It has one session and connects again by itself, waiting Config.ReconnectMin and twice as
// long each time up to ReconnectMax, less a random part. Calls wait meanwhile. If a third of the session's timeout went by
// without a request, it sends a ping; a connection that is silent for two thirds is given up. If the server does not
// know the session any more it gets a new one, and the client registers its watches there. A watch that the server has no
// room for is asked for again once a session timeout, and told to look each time.
//
// At most Config.RequestsMax requests are on the wire; the others wait in the line of the tasks that asked. A write that was
// handed to the connection is not sent again.
//
// # What it does not promise
//
// A client whose session the server does not know gets a new one, and then sees what the server has, however much older
// that is than what it saw before. So a server that starts again serves an empty tree to everybody. Who must not mistake
// it for the one before compares the cluster's identity: metadata.CheckInstanceID.
//
// There is no authentication and no encryption. A client cannot know that its session has expired before it reaches a
// server.
//
// # Who owns what
//
// Server and Client each have a child group of the one they were given. Server: "accept", "expire", and "read" and
// "write" for each connection. Client: "connect", which dials and reads, and "write" for the connection it has. One mutex
// guards a server, one a client.
//
// # Bytes on the wire
//
// Big endian. A frame is a length and a packet of that many bytes, request or response.
//
//	offset  bytes  request                         offset  bytes  response
//	     0      1  operation                            0      1  operation that is answered, or Notice
//	     1      8  sequence, from 1, per                1      8  sequence that is answered, 0 for Notice
//	               connection                           9      1  code, 0: done
//	     9         body                                10      8  index of the state it was answered from
//	                                                   18         body, if the code is 0
//
//	operation   body of the request                             body of the response
//	1 Hello     version 1: u8, session i64, timeout ms i64,     session i64, timeout ms i64
//	            newest index seen i64
//	2 Ping
//	3 Bye
//	4 Get       key                                             version i64, value
//	5 Sync
//	6 Create    kind u8, key, value                             version i64
//	7 Put       expected version i64, key, value                version i64
//	8 Delete    expected version i64, key
//	9 List      key                                             count u32, names, ascending
//	10 Watch    key
//	11 Unwatch  key
//	12 Notice                                                   key
//
// Keys and names are a u16 length and bytes, values a u32 length and bytes. Nothing may follow a body. Hello comes first
// and once. Session 0 asks for a new one; a response to Hello with another session than was asked for says that the old
// one has ended.
package service
