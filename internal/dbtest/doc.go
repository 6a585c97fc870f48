// Package dbtest runs real databases for tests and benchmarks: PostgreSQL
// ([Postgres]), MariaDB ([MariaDB]) and a SQLite file ([SQLite]). A program that
// has no test starts the same servers with [StartPostgres] and [StartMariaDB].
//
// Servers listen on loopback only, on free ports. They end with the test, also
// when the test is killed (Linux), and their folder is removed. What a killed test
// leaves is removed by the next process that starts a server. Only processes started
// here are ever signalled. Databases refuse to run as root, so a root user's servers
// run as the user of the Debian package, or as nobody.
//
// Nothing is forced to the disk (fsync is off) unless a setting says so. What a
// killed server wrote is kept all the same, since the kernel has it.
//
// The programs are looked up in the PATH, then where Debian keeps them. Without
// PostgreSQL a test is skipped, or fails when the variable CI is set. Without
// MariaDB a test is skipped, or fails when TWOFOLD_MARIADB is 1. Starting a MariaDB
// server switches the log of its driver off, for the whole process.
//
// # Cost
//
// On two cores, the first PostgreSQL server of a process takes about 1.5 seconds
// (initdb), each further one 0.4 seconds, and a fresh database in a running one
// 0.1 seconds. So start one server for many subtests, and give each of them a
// database of its own ([PostgresServer.Database]).
package dbtest
