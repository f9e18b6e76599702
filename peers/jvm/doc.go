// Package jvm starts the brokers that run on Java, as processes on this machine, and ends them.
//
// # What it promises
//
//   - A broker listens on the loopback interface only, on ports that were free, and keeps all its files below the directory that
//     it is given.
//   - It ends with Stop, and is killed by the kernel when this process dies without calling it.
//   - Fetch asks Maven once, and keeps what it got in the user's cache directory, a directory for each version.
//
// # What it does not promise
//
// That there is a Java or a Maven: ErrMissing says which is not there. It installs nothing; .ci/run does.
//
// # Settings
//
// Those that the brokers' own launch scripts give the JVM, but RocketMQ's heap of 8 GiB, of which this machine could not
// spare as much: it has 2. Of the brokers' own settings only the durability, bounds that would have them refuse appends on a busy
// machine, and what a single node needs, differ from the defaults: see kafkaProperties and rocketProperties.
package jvm
