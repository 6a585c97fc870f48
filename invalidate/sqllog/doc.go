// Package sqllog keeps the log of invalidations in the application's own database:
// PostgreSQL, SQLite, MySQL or MariaDB, over database/sql.
//
// Without it a process writes to its database, then tells the caches. If it dies between
// the two, no cache hears of the write. Here the invalidation is a row in the same
// transaction. When the transaction commits, the caches of all processes follow within
// [Log.Bound]. When it rolls back, nothing has happened. [Log.Tx] does it:
//
//	log := sqllog.New(db, sqllog.Config{Dialect: sqllog.Postgres})
//	tiers, err := cache.Open(cache.TiersConfig{Local: …, Remote: …, Log: log})
//
//	err = log.Tx(ctx, db, nil, func(tx *sqllog.Tx) error {
//		_, err := tx.ExecContext(ctx, `UPDATE users SET name = $1 WHERE id = $2`, name, id)
//		tx.Invalidate(user, invalidate.Tag("default", "org:7"))
//		return err
//	})
//
// [Log.Append] does the same in a transaction of your own. To know that this process has
// applied a commit, call Ready of cache.Tiers after it. To know that every process has,
// call Settle.
//
// # How it works
//
//  1. Append inserts one row into the outbox table. The row names the scopes in text. It
//     has no number, so writers never wait for each other.
//  2. The next Sync or Tail of any process finds the committed row. Every process syncs
//     four times per Bound, so a writer that died right after COMMIT changes nothing.
//  3. That process removes the cells of the named keys from the remote tier.
//  4. Then it numbers the row: it deletes it, and appends a record to the log, in one
//     step. If it dies between 3 and 4, the row is still there for the next process.
//  5. Every process reads the record and drops what it covers.
//
// A Sync that begins after a commit sees the row, or the record in its place. So no
// process renews its lease without knowing of every commit before it.
//
// # Which log to choose
//
//	                            redislog             sqllog
//	a writer dies after COMMIT  stale until its TTL  caches follow within Bound
//	invalidation without a      yes                  yes: Tiers.Invalidate works
//	database write                                   as well
//	cost of a write             a round trip to      one INSERT in the transaction
//	                            Redis after COMMIT
//	until others hear of it     about 1 ms           about 5 ms with LISTEN, or Config.Poll
//	the server restarts         a new epoch          a new epoch, see KeepOverRestart
//	triggers, migrations and    no                   yes
//	psql can invalidate
//	needs                       Redis                three tables
//
// A new epoch costs every process what it has cached. Take this log when stale data after
// a crash is a fault, and the data is in one database. Take redislog when data is in
// several, or in none.
//
// # Tables
//
// The log needs three tables. [Migrations] has files for goose and golang-migrate,
// [Schema] is their text, and [Log.Install] creates the tables for tests and small tools.
// Without the tables, Append fails and with it the caller's transaction: there must be no
// write without its invalidation.
//
// Writers need INSERT on the outbox and nothing else. Followers need SELECT and DELETE on
// it, SELECT, INSERT and DELETE on the log, and SELECT, INSERT and UPDATE on meta.
//
// A trigger, a migration or a person can invalidate by a row of their own:
//
//	INSERT INTO twofold_outbox (scopes) VALUES
//		('[["k","default:users:v1:42"],["t","default","org:7"],["p","default","users:v1:"]]')
//
// "k" is a key in full, "t" a tenant and a tag, "p" a tenant and a prefix behind it (an
// empty one covers the tenant), "a" alone is everything, and ["h",5000] keeps what the row
// names from being cached for 5,000 ms. The column ns names the namespace. A row that does
// not parse may mean anything, so everything older is given up; [Stats] counts such rows.
//
// # When the log is another log
//
// A restored backup or a standby that lagged may have lost committed rows. So a Sync
// compares the server with the one that the epoch began on, and the ids of records with
// those that the caller knows. If any differs, it starts a new epoch.
//
//   - PostgreSQL: the start of the server and its timeline. A restart starts an epoch,
//     because a file-system snapshot that is put back looks the same. Set
//     KeepOverRestart if that never happens to you. Config.Identity is for services that
//     hide these functions.
//   - MySQL and MariaDB: the server's id and its start, to the second.
//   - SQLite: the ids of records. Do not replace the file under running processes.
//
// A standby and a session that only reads are refused: [ErrStandby].
//
// # What is not promised
//
//   - A primary that was deposed and still takes commits looks like a good one. Patroni and
//     managed services stop it first. With synchronous replication, set Config.Prove.
//     With asynchronous replication and no fencing there is no promise.
//   - A commit that a crash of the server loses (synchronous_commit=off,
//     innodb_flush_log_at_trx_commit other than 1) may have been read into a cache. Such
//     a value stays until its TTL. Commits that were numbered are never lost.
//   - If an old backup is put back while no process is alive, cells that are kept
//     elsewhere are newer than the data. Call [Log.NewEpoch] then.
//   - Do not read through the cache inside the transaction with the transaction as loader:
//     that would store a value before it commits.
//   - Loaders that read from a replica must ask [Log.Replica] first, or invalidate with
//     [invalidate.Hold].
//   - Galera and other multi-primary clusters: send all writes and all Syncs to one node.
//     CockroachDB, YugabyteDB and Vitess are not supported.
//   - A *sql.Conn outside of a transaction, or a function that runs statements on a pool,
//     cannot be told from a transaction. The row commits alone then.
//   - On MySQL a process that is frozen while it starts an epoch blocks the other followers
//     until its connection ends. On PostgreSQL the server ends it after an eighth of Bound.
//
// # Operation
//
// Use the same Bound in all processes. All processes must have the same kind of remote
// tier, or none: [ErrCells]. PostgreSQL and MySQL should run at their default isolation
// levels. SQLite needs WAL mode and a busy timeout in the pool's address. Through PgBouncer
// in transaction mode everything works but Config.Wait, which needs LISTEN on a direct
// connection; Tail polls without it.
//
// On PostgreSQL, transactions that stay open keep vacuum from the outbox. A look skips dead
// rows by the ids of their transactions, unless the open transaction has written something.
// A table of 100,000 such rows costs each look several milliseconds.
package sqllog
