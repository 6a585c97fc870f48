// Package sqltier is the remote tier in a SQL database: one SQLite file, or one table
// in PostgreSQL. It uses database/sql and brings no driver.
//
// Each entry is one row: its key, its [tier.Cell] frame, and when that expires. Each
// claim and each fill is one statement that compares and swaps, so no call needs a
// transaction, and poolers such as PgBouncer may stand between. Of many processes one
// loads, the others wait for its row, and the claim of a process that was killed
// expires.
//
// # Which one to choose
//
//	SQLite      a command-line tool, or the services of one machine. The file survives
//	            restarts, so the second start is warm. To read a small cell costs less
//	            than with Redis. The log of invalidations fits in the same file (package sqllog).
//	PostgreSQL  only where a load costs 5 ms or more (reports, joins, foreign APIs) and
//	            there is no Redis. To get a cell costs what any SELECT by primary key
//	            costs, and a connection: a cache of such SELECTs gains nothing.
//	Redis       everything else; see package redistier.
//
// # Setting it up
//
// The table comes from [Migrations], for goose or golang-migrate, or from [Tier.Install]
// in tests and in programs without migrations. A program that lacks it gets [ErrSchema]
// from cache.Open.
//
// A SQLite file must be in WAL mode (journal_mode=wal) and on a local disk. Set
// busy_timeout, or two processes that write at once fail one. A driver may wait as long
// as that whatever the caller's deadline is. The cache does not wait for it, but the
// connection stays in use. The file's writer should be one pool of one connection, also
// used by the program's own writes: then they queue in the pool, which obeys deadlines.
// With synchronous=normal no call waits for the disk, and a power failure cannot damage
// the file. It may undo the last writes, removals too. So set synchronous=full when the
// log of invalidations is not in the same file.
//
// In PostgreSQL the table is UNLOGGED: its writes are not in the WAL, and no commit
// waits for the disk. A crash or a promotion empties it, a clean restart keeps it. A
// standby cannot read it. Time is the server's, by clock_timestamp: processes need not
// agree on the hour.
//
// # Sizes
//
// A cell over [Config.MaxCell] is not stored: the value stays in the process that loaded
// it. Beyond [Config.MaxBytes] the values go that expire first. Expired rows are removed
// along with the fills, so there is nothing to call and nothing to close; see
// [Tier.Sweep].
//
// # What it costs
//
// The median of one run on two busy cores, in µs, with clients and servers on the same
// machine and all writes of PostgreSQL and SQLite as above:
//
//	                     200 B   4 KB   64 KB
//	get        SQLite        9     29     114
//	           PostgreSQL   97    127     238
//	           Redis        26     26      65
//	claim and  SQLite       92    121     231
//	fill       PostgreSQL  193    203     501
//	           Redis        62     91     256
//
// One SQLite write in a hundred takes 1 to 10 ms, while the file's log is copied into it.
// GetMany, ClaimMany and FillMany of 50 cells of 200 B cost a tenth to a half of as many
// single calls. BenchmarkTiers in internal/dbtest/sqltiertest repeats all of it.
package sqltier
