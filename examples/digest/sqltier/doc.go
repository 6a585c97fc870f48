// Package sqltier is a remote tier and a log of invalidations in one SQLite file, for
// the processes of one machine that share it.
//
// # The tier
//
// Each entry is one row: its key, its [tier.Cell] frame, and until when there is one.
// Claims and fills are a compare-and-set on the frame's nonce, in a transaction that
// takes the write lock before it reads. So of many processes one loads, the others wait
// for its row, and the claim of one that was killed expires.
//
// A table may have more columns, which are then written by the statement that writes
// the frame, from what the frame holds: see [Table]. What people read there and what
// the cache serves cannot differ.
//
// # The log
//
// [Log] keeps its records in the same file. Keys' cells are removed by the transaction
// that appends the record of it: between the two there is nothing to crash in.
//
// A log on a server has to prove by a write that it is the one that takes records. A
// reader of a SQLite file in WAL mode need not: it sees the last commit, whoever made it.
// So renewing a lease takes no write lock, and does not queue behind writers. What a
// file can do is to be set back, by restoring a backup into it. A reader notices by the
// mark of the last record it knows, and starts a new epoch.
//
// Neither works over a network file system, nor when a file is replaced under running
// processes: SQLite itself does not (sqlite.org/howtocorrupt.html).
package sqltier
