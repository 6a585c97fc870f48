// Package sqllog keeps the log of invalidations in the application's own database:
// PostgreSQL, SQLite, MySQL or MariaDB, over database/sql.
//
// With another log, a process writes to its database, then tells the caches. If it dies between
// the two, no cache learns of the write. Here the invalidation is a row in the same
// transaction. When the transaction commits, the caches of all processes follow within
// [Log.Bound]. When it rolls back, nothing is invalidated. [Log.Tx] does it:
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
// [Log.Append] does the same in a transaction of your own; call [Log.Committed] after the
// commit, or other processes hear of it at their next poll. Ready of cache.Tiers, called after
// a commit, waits until this process has applied it. Settle waits until every process has.
//
// # How it works
//
//  1. Append inserts a row into the outbox table. The row names the scopes in text. It
//     has no number, so writers never wait for each other.
//  2. The next Sync or Tail of any process finds the committed row. Every process syncs
//     four times per Bound, so a row is found even if its writer died right after COMMIT.
//  3. That process removes the cells of the named keys from the remote tier.
//  4. Then it numbers the row: in one step, it deletes the row and appends a record to the
//     log. If it dies between 3 and 4, the next process finds the row again.
//  5. Every process reads the record and drops what it covers.
//
// A Sync that begins after a commit sees the row, or the record that replaced it. So no
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
//	until others hear of it     about 1 ms           about 5 ms with LISTEN, else Config.Poll
//	the server restarts         a new epoch          a new epoch, see KeepOverRestart
//	triggers, migrations and    no                   yes
//	psql can invalidate
//	needs                       Redis                three tables
//
// A new epoch costs every process what it has cached. Choose sqllog when stale data after a
// crash is a fault, and the data is in one database. Choose redislog when the data is in
// several databases, or in none.
//
// # Tables
//
// The log needs three tables. [Migrations] has files for goose and golang-migrate, [Schema]
// returns their text, and [Log.Install] creates the tables for tests and small tools. Without
// the tables, Append fails, and the caller's transaction fails with it: no write must commit
// without its invalidation.
//
// Writers need INSERT on the outbox and nothing else. Followers need SELECT and DELETE on
// it, SELECT, INSERT and DELETE on the log, and SELECT, INSERT and UPDATE on meta.
//
// A trigger, a migration or a person can invalidate by inserting a row:
//
//	INSERT INTO twofold_outbox (scopes) VALUES
//		('[["k","default:users:v1:42"],["t","default","org:7"],["p","default","users:v1:"]]')
//
// "k" is a key in full, "t" a tenant and a tag, "p" a tenant and a prefix (an empty prefix
// covers the tenant), and "a" alone is everything. ["h",5000] keeps what the row names from
// being cached for 5,000 ms. The column ns names the namespace. A row that does not parse may
// mean anything, so every process gives up everything older; [Stats] counts such rows.
//
// # When a new epoch starts
//
// A restored backup, or a standby that lagged, may have lost committed rows. So a Sync compares
// the server with the one on which the epoch began. It also compares the ids of records with
// those that the caller knows. If anything differs, it starts a new epoch.
//
//   - PostgreSQL: the start of the server and its timeline. A restart starts an epoch,
//     because a file-system snapshot that is put back looks the same. Set KeepOverRestart
//     if you never restore such snapshots. Config.Identity is for services that hide these
//     functions.
//   - MySQL and MariaDB: the server's id and its start, to the second.
//   - SQLite: the ids of records. Do not replace the file while processes use it.
//
// The log refuses a standby and a read-only session: [ErrStandby]. A read-only SQLite file is
// refused at the first write.
//
// # What is not promised
//
//   - A deposed primary that still takes commits looks like a good one. Patroni and managed
//     services stop it first. With synchronous replication, set Config.Prove. With
//     asynchronous replication and no fencing there is no guarantee.
//   - A crash of the server may lose a commit (synchronous_commit=off,
//     innodb_flush_log_at_trx_commit other than 1, synchronous below FULL in SQLite) that was
//     already read into a cache. Such a value stays until its TTL. On PostgreSQL, commits that
//     were numbered are never lost.
//   - If an old backup is put back while no process is alive, cells that are stored
//     elsewhere are newer than the data. Call [Log.NewEpoch] then.
//   - Do not read through the cache inside the transaction with the transaction as loader:
//     that would store a value before it commits.
//   - Loaders that read from a replica must ask [Log.Replica] first, or invalidate with
//     [invalidate.Hold].
//   - Galera and other multi-primary clusters: send all writes and all Syncs to one node.
//     CockroachDB, YugabyteDB and Vitess are not supported.
//   - Append cannot detect a *sql.Conn outside a transaction, or a function that runs
//     statements on a pool. There the row commits alone.
//   - On MySQL, a process that freezes while it starts an epoch blocks the other followers
//     until its connection ends. On PostgreSQL the server ends it after an eighth of Bound.
//
// # Operation
//
// Use the same Bound in all processes. All processes must have the same kind of remote tier,
// or none: [ErrCells]. Run PostgreSQL and MySQL at their default isolation levels. SQLite
// needs WAL mode and a busy timeout in the pool's address. PgBouncer in transaction mode
// supports everything except Config.Wait, which needs LISTEN on a direct connection. Without
// it, Tail only polls.
//
// On PostgreSQL, a transaction that stays open keeps vacuum from cleaning the outbox. The log
// skips dead rows by the ids of their transactions, unless the open transaction has written
// something. Then a table of 100,000 dead rows costs each look several milliseconds.
package sqllog
