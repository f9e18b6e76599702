// Package call sends requests to a service: the part that the clients of both stores share. Applications use packages segments
// and messages.
//
// # What it promises
//
//   - A request is sent once. What the connection loses is told: a request that may change something and was handed to a
//     connection fails with wire.OutcomeUnknown when no answer came that can be understood, and with wire.Unreachable when
//     there was no connection. net/http sends by itself only what it has not begun to write.
//   - With Config.Service a server of another service does nothing and answers wire.WrongService, and what is no server of this project
//     is told by wire.Foreign. An answer of success that does not name its service is no answer.
//   - An error is a class of package wire, found by errors.Is; when the context has ended, also its error.
//   - Answers are read up to AnswerBytesMax.
//
// # What it does not promise
//
//   - No retries. Only the caller knows whether an append may be stored twice.
//
// Tasks are those of net/http's connections; Close ends those that are idle.
package call
