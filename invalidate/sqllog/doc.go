// Package sqllog keeps the log of invalidations in the application's own database:
// PostgreSQL, SQLite or MariaDB, over database/sql.
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
// [Log.Append] does the same in your own transaction. Call [Log.Committed] after the commit;
// otherwise other processes learn of it at their next poll. Ready of cache.Tiers, called after a
// commit, waits until this process has applied it. Settle waits until every process has.
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
// A Sync that begins after a commit sees the row, or the record that replaced it. Therefore a
// process that renews its lease knows of every earlier commit.
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
//	the server restarts         a new epoch          a new epoch
//	tables invalidate them-     no                   yes
//	selves, also by psql
//	needs                       Redis                three tables
//
// A new epoch costs every process what it has cached. Choose sqllog when stale data after a
// crash is a fault, and the data is in one database. Choose redislog when the data is in
// several databases, or in none.
//
// # Tables
//
// The log needs three tables, and on SQLite a small file beside the database, with its name and
// -twofold. [Migrations] has files for goose and golang-migrate, [Schema] returns their text, and
// [Log.Install] creates the tables for tests and small tools. Without the tables, Append fails, and
// the caller's transaction fails with it: no write must commit without its invalidation.
//
// Column payload of the log shows what a record invalidates, in the text that package redislog
// describes. On PostgreSQL the database should have the encoding UTF8: others cannot hold every text.
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
// covers the tenant), and "a" is everything. With "~" behind the letter, it expires instead. The column ns
// names the namespace. The database does not check the text. A row that does not parse may
// mean anything, so every process discards everything older; [Stats] counts such rows. A row whose text is
// right and names no cache covers nothing. Guide ../WIRE.md has the command for each database's client.
//
// Package triggers makes tables that invalidate themselves: every committed write of the table, by any
// program, appends a row. Its triggers write two more elements, because only Go can spell keys:
// ["v","default","users:v1",42] is the key of a value, and ["w","default","org:",7] a tag that ends in
// values.
//
// # When a new epoch starts
//
// A restored backup, or a standby that lagged, may have lost committed rows. Therefore a Sync
// compares the server with the one on which the epoch began. It checks that the tables are those
// that the log wrote there, even if the server did not restart. It also compares the ids of
// records with those that the caller knows. If anything differs, it starts a new epoch
// (TestPutBack, TestLostEnd, TestDamageStartsAnEpoch).
//
// PostgreSQL: the server is known by its start and its timeline. A restart starts an epoch,
// because a file-system snapshot that is put back looks the same. The tables are known by the
// transaction that wrote the row of meta, which no dump brings, and by the oid of the database. A
// service that hides pg_postmaster_start_time or pg_walfile_name cannot hold the log. VACUUM FULL,
// CLUSTER, REINDEX and GRANT start no epoch (TestEverydayStartsNoEpoch). A change of meta by hand, or
// an ALTER TABLE that rewrites meta, costs one.
//
// MariaDB: the server is known by its id, by its start to the second, and by the clock
// sequence of UUID(), which it draws when it starts. The tables are known by a number that a dump
// rounds, and by the time at which the server created meta. OPTIMIZE and ALTER TABLE of meta
// therefore cost an epoch; those of other tables do not. The server shows that time in the zone of
// the session. If the sessions use several time zones, do not create meta in the hour that a clock
// change repeats: each change between them would start an epoch. This was tested with MariaDB
// 10.11.
//
// SQLite: the tables are known by the file beside the database, which says where the log ends and
// which inode the database has. VACUUM and changes of the schema start no epoch. A lost file beside
// the database, or a crash in the middle of a numbering, costs one. Every process must be able to
// write in the folder. In a database in memory, the schema cookie takes the place of that file, so
// each change of the schema costs an epoch.
//
// The log refuses a standby and a read-only session: [ErrStandby]. A read-only SQLite file is
// refused at the first write.
//
// # What is not promised
//
//   - A deposed primary that still takes commits looks like a good one. Patroni and managed
//     services stop it first. Without such fencing there is no guarantee.
//   - A crash of the server may lose a commit (synchronous_commit=off,
//     innodb_flush_log_at_trx_commit other than 1, synchronous below FULL in SQLite) that was
//     already read into a cache. Such a value stays until its TTL. On PostgreSQL, commits that
//     were numbered are never lost.
//   - Some ways to put old tables back leave no trace. Call [Log.NewEpoch] after them, before
//     processes go on. PostgreSQL: tables that were set aside by RENAME and then put back.
//     MariaDB: a copy inside the server, put back into the same table by INSERT and
//     SELECT, or by a tool that copies FLOAT columns exactly. SQLite: the whole folder, with the
//     file beside the database, written over the same files while no connection is open; on
//     Windows, also by rename. SQLite also cannot notice that a backup is put back if nothing was
//     numbered since; commits that no process had numbered yet are lost with it, usually those of
//     the last Config.Poll.
//   - If a SQLite file is replaced while connections are open, they see two databases. Then each
//     Sync starts an epoch or fails. Close all connections first, and replace the file by rename,
//     or use the backup API, which needs neither.
//   - Do not delete rows of the outbox: they are invalidations that have not happened yet.
//   - Do not read through the cache inside the transaction with the transaction as loader:
//     that would store a value before it commits.
//   - Loaders that read from a replica must ask [Log.Replica] first.
//   - Galera and other multi-primary clusters: send all writes and all Syncs to one node.
//     MySQL was never tried, and the statements of MariaDB do not suit it. CockroachDB, YugabyteDB and
//     Vitess are not supported.
//   - Append cannot detect a *sql.Conn outside a transaction, or a function that runs
//     statements on a pool. There the row commits by itself.
//   - On MariaDB, a process that freezes while it starts an epoch blocks the other followers
//     until its connection ends. On PostgreSQL the server ends it after an eighth of Bound.
//
// # Operation
//
// A program refuses the tables of another version: [ErrSchema]. Drop them and migrate again, or give
// the log other tables. Either way it starts an epoch, which also covers rows that had no number yet.
//
// Use the same Bound in all processes. All processes must have the same kind of remote tier,
// or none: [ErrCells]. Run PostgreSQL and MariaDB at their default isolation levels. SQLite
// needs WAL mode and a busy timeout in the pool's address. PgBouncer in transaction mode
// supports everything except Config.Wait, which needs LISTEN on a direct connection. Without
// it, Tail only polls. The driver's prepared statements need PgBouncer 1.21 or newer with
// max_prepared_statements. With an older one turn them off: default_query_exec_mode=exec in the
// address of pgx, binary_parameters=yes in that of lib/pq. Statement mode does not work.
//
// On PostgreSQL, a transaction that stays open keeps vacuum from cleaning the outbox. The log
// skips dead rows by the ids of their transactions, unless the open transaction has written
// something. Then a table of 100,000 dead rows costs each look several milliseconds.
package sqllog
