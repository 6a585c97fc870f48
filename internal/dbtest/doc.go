// Package dbtest runs real databases for tests and benchmarks: PostgreSQL ([Postgres]), MariaDB
// ([MariaDB]) and a SQLite file ([SQLite]). A program without a test starts the same servers with
// [StartPostgres] and [StartMariaDB].
//
// Servers listen only on loopback, on free ports. They end with the test, even if the test is
// killed (Linux), and their folder is removed. The next process that starts a server removes the
// remains of a killed test. dbtest signals only processes that it has started. Databases refuse to
// run as root, so a root user's servers run as the user of the Debian package, or as the user
// nobody.
//
// Servers do not flush to the disk (fsync is off) unless a setting says so. The writes of a killed
// server still survive, because the kernel has them.
//
// The programs are looked up in the PATH, then in Debian's folders. Without PostgreSQL a test is
// skipped, or fails if the variable CI is set. Without MariaDB a test is skipped, or fails if
// TWOFOLD_MARIADB is 1. Starting a MariaDB server switches off the log of its driver for the whole
// process.
//
// # Cost
//
// On two cores, the first PostgreSQL server of a process takes about 1.5 seconds (initdb), and each
// further one 0.4 seconds. A fresh database in a running server takes 0.1 seconds. Start one server
// for many subtests, and give each of them its own database ([PostgresServer.Database]).
package dbtest
