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
//	            restarts, so the second start is warm. Small cells cost less than with
//	            Redis. The log of invalidations fits in the same file (package sqllog).
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
// FIGURES
package sqltier
