PRAGMA foreign_keys = OFF;
BEGIN;
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
CREATE TABLE posts (
    id           INTEGER PRIMARY KEY AUTOINCREMENT, -- never the id of a deleted post
    slug         TEXT NOT NULL UNIQUE,
    title        TEXT NOT NULL,
    summary      TEXT NOT NULL,
    body         TEXT NOT NULL,
    lang         TEXT NOT NULL CHECK (lang IN ('en', 'zh')),
    status       TEXT NOT NULL CHECK (status IN ('draft', 'scheduled', 'published')),
    published_at INTEGER CHECK ((published_at IS NULL) = (status = 'draft')),
    updated_at   INTEGER NOT NULL
) STRICT;
CREATE TABLE tags (
    id   INTEGER PRIMARY KEY,
    slug TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL
) STRICT;
CREATE TABLE post_tags (
    post_id INTEGER NOT NULL REFERENCES posts ON DELETE CASCADE,
    tag_id  INTEGER NOT NULL REFERENCES tags ON DELETE CASCADE,
    PRIMARY KEY (post_id, tag_id)
) STRICT, WITHOUT ROWID;
CREATE TABLE pages (
    id         INTEGER PRIMARY KEY AUTOINCREMENT,
    slug       TEXT NOT NULL UNIQUE,
    title      TEXT NOT NULL,
    body       TEXT NOT NULL,
    lang       TEXT NOT NULL CHECK (lang IN ('en', 'zh')),
    updated_at INTEGER NOT NULL
) STRICT;
CREATE TABLE nav_items (
    position INTEGER PRIMARY KEY,
    lang     TEXT NOT NULL CHECK (lang IN ('en', 'zh')),
    label    TEXT NOT NULL,
    url      TEXT NOT NULL
) STRICT;
CREATE TABLE settings (
    id    INTEGER PRIMARY KEY CHECK (id = 1),
    value TEXT NOT NULL CHECK (json_valid(value))
) STRICT;
CREATE TABLE api_keys (
    prefix     TEXT PRIMARY KEY,
    label      TEXT NOT NULL,
    hash       BLOB NOT NULL CHECK (length(hash) = 32),
    scopes     TEXT NOT NULL CHECK (json_valid(scopes)),
    created_at INTEGER NOT NULL,
    revoked_at INTEGER
) STRICT, WITHOUT ROWID;
CREATE TABLE revision (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    n  INTEGER NOT NULL
) STRICT;
CREATE TABLE twofold_outbox (
	id     INTEGER PRIMARY KEY AUTOINCREMENT,
	ns     TEXT NOT NULL DEFAULT 'default',
	scopes TEXT NOT NULL,
	at     INTEGER NOT NULL DEFAULT (CAST((julianday('now') - 2440587.5) * 86400000000 AS INTEGER)),
	UNIQUE (ns, id)
);
CREATE TABLE twofold_log (
	ns      TEXT NOT NULL,
	seq     INTEGER NOT NULL,
	pos     INTEGER NOT NULL,
	prev    INTEGER NOT NULL,
	at      INTEGER NOT NULL,
	id      INTEGER NOT NULL,
	after   INTEGER NOT NULL,
	payload BLOB NOT NULL,
	PRIMARY KEY (ns, seq, pos)
);
CREATE TABLE twofold_meta (
	ns        TEXT PRIMARY KEY NOT NULL,
	version   INTEGER NOT NULL DEFAULT 1,
	identity  TEXT NOT NULL DEFAULT '',
	epoch     INTEGER NOT NULL DEFAULT 0,
	key_end   INTEGER NOT NULL DEFAULT 0,
	scope_end INTEGER NOT NULL DEFAULT 0,
	key_id    INTEGER NOT NULL DEFAULT 0,
	scope_id  INTEGER NOT NULL DEFAULT 0,
	bound     INTEGER NOT NULL DEFAULT 0,
	tier      TEXT,
	proofs    INTEGER NOT NULL DEFAULT 0
);
INSERT INTO goose_db_version (id, version_id, is_applied, tstamp) VALUES (1, 0, 1, '2026-11-24 03:07:23');
INSERT INTO goose_db_version (id, version_id, is_applied, tstamp) VALUES (2, 1, 1, '2026-11-24 03:07:23');
INSERT INTO goose_db_version (id, version_id, is_applied, tstamp) VALUES (3, 2, 1, '2026-11-24 03:07:23');
INSERT INTO posts (id, slug, title, summary, body, lang, status, published_at, updated_at) VALUES (1, 'the-cost-of-a-miss', 'The cost of a miss', 'People quote hit ratios because they are easy to measure, but a ratio says little about what the misses cost.', 'We added our first cache because a page was slow, and our second because the first one was wrong. Since then we have come to see a cache as a small distributed system that happens to live inside one process: there are two copies of something, they can disagree, and somebody has to say which of them wins. What follows is what we would have liked to know on that first afternoon.

People quote hit ratios because they are easy to measure, but a ratio says little about what the misses cost. Ninety-nine hits that save a millisecond are worth less than one avoided miss that takes four seconds. We now multiply: misses times the time of a load, summed by kind of page. The list that came out of that looked nothing like the list of the most popular pages, and the first entry was a sitemap that only robots read.

If you take one thing from this, let it be the order of questions. First ask what may be old and for how long. Then ask who knows when it changes. Only then ask where to keep it. Teams that begin with the last question end up with a very fast way of being wrong, and we say so as people who have built it twice.
', 'en', 'published', 1714635000000, 1714635000000);
INSERT INTO posts (id, slug, title, summary, body, lang, status, published_at, updated_at) VALUES (2, 'one-writer-at-a-time', 'One writer at a time', 'An embedded database lets many read at once and one write.', 'There are weeks in which the database is the most boring part of the system, and we work hard to have more of them. Boring means that the schema is written down, that the slow queries are known by name, and that somebody restored a backup recently and did not enjoy it. These notes collect what made ours boring, in no particular order.

An embedded database lets many read at once and one write. Code that opens ten connections and hopes for the best will meet an error that says the database is locked, usually on the busiest day. We keep one connection for writing and queue on it in the program, where a queue is cheap and fair, and a pool of others that may only read:

```sql
PRAGMA journal_mode = WAL;
PRAGMA busy_timeout = 5000;
PRAGMA foreign_keys = ON;
```

Since then we have not seen the error once.

If your database is exciting, write down what excited you last and make it a test, an index or a line in the manual. Do that for a year. There will be fewer stories to tell, and more evenings to tell other stories in, which we recommend.
', 'en', 'published', 1715758200000, 1715758200000);
INSERT INTO posts (id, slug, title, summary, body, lang, status, published_at, updated_at) VALUES (3, 'headers-that-say-what-they-mean', 'Headers that say what they mean', 'A response says how it may be used in a handful of headers, and each of them is a promise to strangers.', 'A page that is text, a style sheet and nothing else loads before you have finished deciding to wait for it. We keep ours that way out of laziness as much as principle: what is not there does not break. Some things cannot be left out, though, and this post is about doing them with what the browser already knows.

A response says how it may be used in a handful of headers, and each of them is a promise to strangers. If you say that something is public for an hour, then somewhere a machine that you will never meet is going to serve it for an hour, whatever you do in the meantime. We say so only of files whose names change with their content. Everything else is marked to be asked about again, which costs one short request when nothing has changed.

None of these changes made it into a release note. Together they took a quarter off the traffic, and the letters that begin with "your site used to" have stopped. That is what good plumbing sounds like. The next time a page feels slow, look at what it says about itself before you look at what it does.
', 'en', 'published', 1716881400000, 1716881400000);
INSERT INTO posts (id, slug, title, summary, body, lang, status, published_at, updated_at) VALUES (4, 'tables-and-their-rows', 'Tables and their rows', 'When five tests differ in two values, they are a table with five rows.', 'We have a rule that a test may be deleted by anyone who can say what it no longer tells us. Since then the suite is smaller, faster and trusted, and there is a short list on the wall of the kinds of test that nobody has ever wanted to delete. This post goes through the list, with an example for each.

When five tests differ in two values, they are a table with five rows. The table shows what varies, and the loop below it what stays the same, so a reader can check the cases without reading the code. A good row has a name that reads like a sentence. A row that needs a flag that only it uses is a sign that it wants to be a test of its own.

```go
for _, tt := range []struct{ name, in, want string }{
	{"empty", "", ""},
	{"two words", "Hello World", "hello-world"},
} {
	t.Run(tt.name, func(t *testing.T) { /* … */ })
}
```

All of this takes time, and we are asked now and then where it comes from. It comes from the evenings that we no longer spend looking for something that a sentence could have told us. Begin with the last bug: write down the sentence that would have caught it, and make the machine read it every day.
', 'en', 'published', 1718004600000, 1718004600000);
INSERT INTO posts (id, slug, title, summary, body, lang, status, published_at, updated_at) VALUES (5, 'the-first-sentence', 'The first sentence', 'A reader decides with the first sentence whether to read the second.', 'Documentation is the part of a program that runs in the reader. It has bugs, it can be tested, and it falls behind when nobody looks after it. We began to treat it that way after a week in which three people lost a day each to one wrong sentence. Since then a change that makes a sentence wrong is not finished until the sentence is right.

A reader decides with the first sentence whether to read the second. So it says what the thing is, in words that the reader has already, and what it is good for. It does not say that the thing is modern, simple or powerful, because nobody has ever looked for something old, complicated and weak. We write the first sentence last, and then throw away the paragraph in front of it.

Rules like these are easy to collect and easy to follow badly. When one of them makes a sentence worse, break it and move on; that is a rule as well. What counts is that somebody read the page before the reader did, with the reader in mind, and was allowed to change it.
', 'en', 'published', 1719127800000, 1719127800000);
INSERT INTO tags (id, slug, name) VALUES (1, 'caching', 'Caching');
INSERT INTO tags (id, slug, name) VALUES (2, 'performance', 'Performance');
INSERT INTO tags (id, slug, name) VALUES (3, 'reliability', 'Reliability');
INSERT INTO tags (id, slug, name) VALUES (4, 'databases', 'Databases');
INSERT INTO tags (id, slug, name) VALUES (5, 'sqlite', 'SQLite');
INSERT INTO tags (id, slug, name) VALUES (6, 'operations', 'Operations');
INSERT INTO tags (id, slug, name) VALUES (7, 'http', 'HTTP');
INSERT INTO tags (id, slug, name) VALUES (8, 'web', 'The web');
INSERT INTO tags (id, slug, name) VALUES (9, 'standards', 'Standards');
INSERT INTO tags (id, slug, name) VALUES (10, 'testing', 'Testing');
INSERT INTO tags (id, slug, name) VALUES (11, 'go', 'Go');
INSERT INTO tags (id, slug, name) VALUES (12, 'tooling', 'Tooling');
INSERT INTO tags (id, slug, name) VALUES (13, 'writing', 'Writing');
INSERT INTO tags (id, slug, name) VALUES (14, 'documentation', 'Documentation');
INSERT INTO tags (id, slug, name) VALUES (15, 'editing', 'Editing');
INSERT INTO tags (id, slug, name) VALUES (16, 'baking', 'Baking');
INSERT INTO tags (id, slug, name) VALUES (17, 'kitchen', 'In the kitchen');
INSERT INTO tags (id, slug, name) VALUES (18, 'fermentation', 'Fermentation');
INSERT INTO tags (id, slug, name) VALUES (19, 'walking', 'Walking');
INSERT INTO tags (id, slug, name) VALUES (20, 'maps', 'Maps');
INSERT INTO tags (id, slug, name) VALUES (21, 'weather', 'Weather');
INSERT INTO tags (id, slug, name) VALUES (22, 'gardening', 'Gardening');
INSERT INTO tags (id, slug, name) VALUES (23, 'soil', 'Soil');
INSERT INTO tags (id, slug, name) VALUES (24, 'seasons', 'Seasons');
INSERT INTO tags (id, slug, name) VALUES (25, 'huancun', '缓存');
INSERT INTO tags (id, slug, name) VALUES (26, 'gongcheng', '工程实践');
INSERT INTO tags (id, slug, name) VALUES (27, 'cha', '茶');
INSERT INTO tags (id, slug, name) VALUES (28, 'shenghuo', '生活');
INSERT INTO tags (id, slug, name) VALUES (29, 'jijie', '季节');
INSERT INTO tags (id, slug, name) VALUES (30, 'chengshi', '城市');
INSERT INTO tags (id, slug, name) VALUES (31, 'buxing', '步行');
INSERT INTO post_tags (post_id, tag_id) VALUES (1, 1);
INSERT INTO post_tags (post_id, tag_id) VALUES (2, 4);
INSERT INTO post_tags (post_id, tag_id) VALUES (3, 7);
INSERT INTO post_tags (post_id, tag_id) VALUES (4, 10);
INSERT INTO post_tags (post_id, tag_id) VALUES (5, 13);
INSERT INTO pages (id, slug, title, body, lang, updated_at) VALUES (1, 'about', 'About', 'We are a few people who work in one room above a yard, on programs that
keep other people''s data, and who write down what we would otherwise forget.

## What you find here

Posts about caches, databases, the web and tests, because that is what we do
all day; and posts about bread, walking and a very small garden, because that is
what we talk about meanwhile. Some of it is in [Chinese](/zh/).

## How often

About twice a week. The [RSS](/rss.xml) and [Atom](/atom.xml) feeds carry the full
text, and there is an API for those who would rather read by program.
', 'en', 1714635000000);
INSERT INTO pages (id, slug, title, body, lang, updated_at) VALUES (2, 'guanyu', '关于', '我们几个人在一间临着小院的屋子里工作，写一些替别人保管数据的程序，也把不写下来就会忘掉的事情写在这里。

## 这里有什么

中文部分有关于缓存、茶和城市步行的文章；更多的文章是[英文](/)的。大约每周更新一次，
可以用 [RSS](/zh/rss.xml) 或 [Atom](/zh/atom.xml) 订阅，订阅里是全文。
', 'zh', 1714635000000);
INSERT INTO nav_items (position, lang, label, url) VALUES (0, 'en', 'Home', '/');
INSERT INTO nav_items (position, lang, label, url) VALUES (1, 'zh', '首页', '/zh/');
INSERT INTO nav_items (position, lang, label, url) VALUES (2, 'en', 'About', '/pages/about');
INSERT INTO nav_items (position, lang, label, url) VALUES (3, 'zh', '关于', '/zh/pages/guanyu');
INSERT INTO settings (id, value) VALUES (1, '{"base_url":"http://127.0.0.1:18096","author":"The Yard","posts_per_page":10,"feed_items":20,"texts":{"en":{"title":"Notes from the Yard","description":""},"zh":{"title":"小院札记","description":""}}}');
INSERT INTO api_keys (prefix, label, hash, scopes, created_at, revoked_at) VALUES ('4nubhwjl', 'Seed', X'6E0D8A04B904A4D6F9B86B13430CD774A11E358D5CF55C53FB54E1023FDC1F93', '["read","write"]', 1714635000000, NULL);
INSERT INTO revision (id, n) VALUES (1, 1);
INSERT INTO twofold_log (ns, seq, pos, prev, at, id, after, payload) VALUES ('default', 1, 4294967296, 0, 1795489643733984, 6386741027581619909, 0, X'');
INSERT INTO twofold_log (ns, seq, pos, prev, at, id, after, payload) VALUES ('default', 2, 4294967296, 0, 1795489643733984, 6386741027581619909, 0, X'');
INSERT INTO twofold_log (ns, seq, pos, prev, at, id, after, payload) VALUES ('default', 2, 4294967297, 0, 1795489643734990, 327797941436281264, 6386741027581619909, X'040000000000000000000000000000');
INSERT INTO twofold_meta (ns, version, identity, epoch, key_end, scope_end, key_id, scope_id, bound, tier, proofs) VALUES ('default', 1, 'sqlite', 6386741027581619909, 4294967296, 4294967297, 6386741027581619909, 327797941436281264, 2000, NULL, 0);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence (name, seq) VALUES ('goose_db_version', 3);
INSERT INTO sqlite_sequence (name, seq) VALUES ('posts', 71);
INSERT INTO sqlite_sequence (name, seq) VALUES ('pages', 2);
INSERT INTO sqlite_sequence (name, seq) VALUES ('twofold_outbox', 1);
CREATE INDEX posts_public ON posts (lang, published_at DESC, id DESC) WHERE status = 'published';
CREATE INDEX posts_due ON posts (published_at) WHERE status = 'scheduled';
CREATE INDEX post_tags_tag ON post_tags (tag_id);
CREATE VIEW shown AS
SELECT p.*,
    (SELECT json_group_array(json_object('slug', t.slug, 'name', t.name) ORDER BY t.slug)
     FROM post_tags x JOIN tags t ON t.id = x.tag_id WHERE x.post_id = p.id) AS tags,
    strftime('%Y-%m', p.published_at / 1000, 'unixepoch') AS month
FROM posts p;
COMMIT;
