// Package sqltier is the remote tier in a SQL database: one SQLite file, or one table
// in PostgreSQL. It uses database/sql and brings no driver.
//
// Each entry is one row: its key, its [tier.Cell] frame, and its expiry. Each change of a row is
// one statement that compares and swaps, so PostgreSQL needs no transactions, and poolers such as
// PgBouncer work, without the prepared statements of the driver (default_query_exec_mode=exec in the
// address of pgx). One of many processes loads, and the others wait for its row. The claim of a
// killed process expires.
//
// # Which one to choose
//
//	SQLite      a command-line tool, or the services of one machine. The file survives
//	            restarts, so the second start is warm. Reading a small cell costs less
//	            than with Redis. The log of invalidations fits in the same file (package sqllog).
//	PostgreSQL  only where a load costs 5 ms or more (reports, joins, foreign APIs) and
//	            there is no Redis. Getting a cell costs the same as any SELECT by primary
//	            key, and a connection: a cache of such SELECTs gains nothing.
//	Redis       everything else; see package redistier.
//
// # Setting it up
//
// [Migrations] has the table for goose and golang-migrate. [Tier.Install] creates it in tests and
// in programs without migrations. Without the table, cache.Open returns [ErrSchema].
//
// A SQLite file must be in WAL mode (journal_mode=wal) and on a local disk. Set busy_timeout;
// without it, one of two processes that write at the same time fails. If two processes create a
// file together, SQLite may refuse one immediately, while the other sets the mode. That process
// must connect again. A driver may wait for the whole busy_timeout, even beyond the caller's
// deadline. The cache does not wait for the driver, but the connection stays in use. Write to the
// file through one pool of one connection, which the program's own writes also use. Then writes
// queue in the pool, which obeys deadlines. With synchronous=normal no call waits for the disk, and
// a power failure cannot damage the file. But it may undo the last writes, including removals.
// Therefore set synchronous=full when the log of invalidations is not in the same file.
//
// In PostgreSQL the table is UNLOGGED: its writes are not in the WAL, and no commit waits for the
// disk. A crash or a promotion empties the table; a clean restart keeps it. A standby cannot read
// it. Times are the server's, by clock_timestamp, so the clocks of processes need not agree. Leave the
// isolation level of the database as it is: above read committed, statements that meet end with errors.
//
// # Sizes
//
// A cell over [Config.MaxCell] is not stored: the value stays in the process that loaded it.
// Beyond [Config.MaxBytes], the tier removes the values that expire first. Fills also remove
// expired rows, so there is nothing to call and nothing to close; see [Tier.Sweep].
//
// # What it costs
//
// These are medians of one run on two busy cores, in µs. Clients and servers ran on the same
// machine, with PostgreSQL and SQLite set up as above:
//
//	                     200 B   4 KB   64 KB
//	get        SQLite        9     29     114
//	           PostgreSQL   97    127     238
//	           Redis        26     26      65
//	claim and  SQLite       92    121     231
//	fill       PostgreSQL  193    203     501
//	           Redis        62     91     256
//
// One SQLite write in a hundred takes 1 to 10 ms, while SQLite copies the WAL into the file.
// GetMany, ClaimMany and FillMany of 50 cells of 200 B cost a tenth to a half of as many single
// calls. BenchmarkTiers in internal/dbtest/sqltiertest repeats these measurements.
package sqltier
