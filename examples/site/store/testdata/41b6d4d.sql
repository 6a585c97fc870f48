PRAGMA foreign_keys = OFF;
BEGIN;
CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);
CREATE TABLE posts (
    id           INTEGER PRIMARY KEY AUTOINCREMENT, -- never the id of a post that was deleted
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
INSERT INTO goose_db_version (id, version_id, is_applied, tstamp) VALUES (1, 0, 1, '2026-11-24 03:07:19');
INSERT INTO goose_db_version (id, version_id, is_applied, tstamp) VALUES (2, 1, 1, '2026-11-24 03:07:19');
INSERT INTO posts (id, slug, title, summary, body, lang, status, published_at, updated_at) VALUES (1, 'the-cost-of-a-miss', 'The cost of a miss', 'People quote hit ratios because they are easy to measure, but a ratio says little about what the misses cost.', 'A cache is a promise to answer with something older than the truth in exchange for answering sooner. Most trouble with caches comes from forgetting the first half of that sentence. The program gets faster in an afternoon, everybody is pleased, and a month later somebody asks why the price on the page is not the price in the database. These are notes from the second half.

## The cost of a miss

People quote hit ratios because they are easy to measure, but a ratio says little about what the misses cost. Ninety-nine hits that save a millisecond are worth less than one avoided miss that takes four seconds. We now multiply: misses times the time of a load, summed by kind of page. The list that came out of that looked nothing like the list of the most popular pages, and the first entry was a sitemap that only robots read.

## Keys that mean one thing

A key has to contain everything that changes the answer, and nothing that does not. Leave out the language and a reader in Beijing gets an English page; put in a tracking parameter and the same page is stored a thousand times. We write the key of every page down as a list:

- the kind of answer, such as page, feed or list;
- the path, after redirects;
- the parameters that the page reads, in alphabetical order.

Anything else that a request brings is dropped before the key is made.

## Many readers, one load

When a popular entry disappears, everyone who wants it notices at once. Without care, fifty requests run the same slow query side by side, the database slows down, and more requests pile up behind them. The cure is to let the first request do the work while the others wait for its result. It sounds like a detail, and it is the difference between a short pause and an outage on the day when a post is read by the whole office.

## Stale is a decision

Serving something old while something new is being fetched is often the best answer of all: nobody waits, and the next reader sees the change. But it has to be a decision for each kind of content. A list of recent posts may be a few seconds behind without anyone caring. A page that was taken down for legal reasons may not. We keep a table with one row for each kind of content and one column that says how old is too old.

> **Indexes that earn their keep.** Every index makes reads faster and writes slower, and nobody ever removes one. Twice a year we go through the list and ask each of them for a query that needs it. A partial index is often the better tool: if the public only ever sees published posts, an index over those alone is smaller, and the planner uses it as soon as the query repeats the condition. Three indexes left us this spring, and no reader has noticed.

---

None of this is new, and little of it is difficult. What makes it hard is that a cache fails politely: nothing crashes, no alarm rings, a page is merely wrong for somebody else. So test it the way you would test a lock, with many readers and writers at once and an oracle that has no cache at all, and be suspicious of every afternoon that goes too well.
', 'en', 'published', 1714635000000, 1714635000000);
INSERT INTO posts (id, slug, title, summary, body, lang, status, published_at, updated_at) VALUES (2, 'one-writer-at-a-time', 'One writer at a time', 'An embedded database lets many read at once and one write.', 'Our site keeps everything in one file on one disk. When we say so at meetings somebody always asks when we are going to move to a real database, and we answer that this is one. It has transactions, indexes, foreign keys and twenty years of tests behind it. What it does not have is a network in the middle, and most of what follows is about learning to enjoy that.

## One writer at a time

An embedded database lets many read at once and one write. Code that opens ten connections and hopes for the best will meet an error that says the database is locked, usually on the busiest day. We keep one connection for writing and queue on it in the program, where a queue is cheap and fair, and a pool of others that may only read:

```sql
PRAGMA journal_mode = WAL;
PRAGMA busy_timeout = 5000;
PRAGMA foreign_keys = ON;
```

Since then we have not seen the error once.

## Indexes that earn their keep

Every index makes reads faster and writes slower, and nobody ever removes one. Twice a year we go through the list and ask each of them for a query that needs it. A partial index is often the better tool: if the public only ever sees published posts, an index over those alone is smaller, and the planner uses it as soon as the query repeats the condition. Three indexes left us this spring, and no reader has noticed.

## Migrations without fear

A migration is a program that runs once, on data that you have never seen, at a moment when everybody is watching. So we keep each one small, test it on a copy of the real file, and never edit one that has been released. Adding a column is easy. Taking one away is done in three releases: stop writing it, stop reading it, drop it. It feels slow until the day when you have to go back by one release.

## Backups are restores

Nobody needs backups; people need restores. A job copies the file every night with the online backup interface, because copying a database that is being written to with an ordinary tool gives you a file that is almost right. Another job takes the newest copy every morning, opens it, checks its integrity and counts the posts. The count goes to the same channel as the weather, so its absence is noticed before lunch.

> **Validators and short answers.** An entity tag is a fingerprint of a response. The browser keeps it and asks, next time, for the page unless it is still the same; the server compares two short strings and answers with nothing but a status line. It works only if the fingerprint is of the bytes, and if the same state gives the same bytes every time. We found three pages that printed the time at which they were made, for no reason that anybody could remember, and were therefore always new.

---

We will outgrow the one file one day, and we look forward to the post about it. Until then the whole state of the site fits on a stick, starts in the time it takes to open a file, and can be studied in a shell with three commands. When somebody asks when we are going to move to a real database, we show them the restore.
', 'en', 'published', 1714957200000, 1714957200000);
INSERT INTO posts (id, slug, title, summary, body, lang, status, published_at, updated_at) VALUES (3, 'headers-that-say-what-they-mean', 'Headers that say what they mean', 'A response says how it may be used in a handful of headers, and each of them is a promise to strangers.', 'The web is older than most of the people who work on it, and it has opinions. Nearly everything that a new framework offers in the way of caching, negotiation and recovery was there in the protocol already, written by people who had thought about it for longer than we have. This is a tour of the parts that we rediscovered the hard way.

## Headers that say what they mean

A response says how it may be used in a handful of headers, and each of them is a promise to strangers. If you say that something is public for an hour, then somewhere a machine that you will never meet is going to serve it for an hour, whatever you do in the meantime. We say so only of files whose names change with their content. Everything else is marked to be asked about again, which costs one short request when nothing has changed.

## Validators and short answers

An entity tag is a fingerprint of a response. The browser keeps it and asks, next time, for the page unless it is still the same; the server compares two short strings and answers with nothing but a status line. It works only if the fingerprint is of the bytes, and if the same state gives the same bytes every time. We found three pages that printed the time at which they were made, for no reason that anybody could remember, and were therefore always new.

## Feeds are not dead

Every few years somebody announces the end of feeds, and every month the log shows a few thousand programs fetching ours. They are patient, they ask politely whether anything has changed, and there is a person behind each of them who wanted to read what we write. A feed needs little: full text, absolute links, an identifier for each entry that survives a change of title, and a date that is not the date of the last deployment.

## Addresses that stay

An address is a promise as well. When the title of a post changes, the slug can change with it, but somewhere there is a letter, a book or a very long thread with the old one in it. Each post has a short link with a number that never changes, and that link redirects to wherever the post lives today. It is the one we print, and the one that goes into feeds as the identifier.

> **Time under control.** Tests that sleep are slow when they pass and wrong when they fail. A program that takes its clock from outside can be tested at midnight, on the last day of February and a second before a deadline, in no time at all. Newer versions of the language go further and run a test in a bubble in which time moves only when everybody waits. We deleted the last real sleep in March, and the suite has not failed by accident since.

---

The protocol rewards those who tell it the truth. Say what a thing is, when it changed and for whom it is meant, and caches, readers, robots and screen readers will do the rest without a line of code from you. It is the closest thing to a free lunch that our trade has, and it has been on the table since 1997.
', 'en', 'published', 1715279400000, 1715279400000);
INSERT INTO posts (id, slug, title, summary, body, lang, status, published_at, updated_at) VALUES (4, 'tables-and-their-rows', 'Tables and their rows', 'When five tests differ in two values, they are a table with five rows.', 'A test is a sentence about a program that a machine can check. Most of ours used to be bad sentences: long, about several things at once, and true only on the computer of the person who wrote them. Rewriting them has taught us more about the program than writing them did. Here are the habits that have stayed.

## Tables and their rows

When five tests differ in two values, they are a table with five rows. The table shows what varies, and the loop below it what stays the same, so a reader can check the cases without reading the code. A good row has a name that reads like a sentence. A row that needs a flag that only it uses is a sign that it wants to be a test of its own.

```go
for _, tt := range []struct{ name, in, want string }{
	{"empty", "", ""},
	{"two words", "Hello World", "hello-world"},
} {
	t.Run(tt.name, func(t *testing.T) { /* … */ })
}
```

## Time under control

Tests that sleep are slow when they pass and wrong when they fail. A program that takes its clock from outside can be tested at midnight, on the last day of February and a second before a deadline, in no time at all. Newer versions of the language go further and run a test in a bubble in which time moves only when everybody waits. We deleted the last real sleep in March, and the suite has not failed by accident since.

## An oracle next door

The strongest tests we have compare two programs that should agree: the clever one and the stupid one. The stupid one has no cache, no index and no shortcuts; it fits on a screen, and anyone can see that it is right. A generator invents a few hundred operations, both programs perform them, and the answers must match to the byte. When they do not, the tool shrinks the list to the three operations that matter.

## The race detector

Data races are the mistakes that tests are worst at and tools are best at. A run with the detector is slower by some factor, and we pay it on every change. The trick is to give it something to see: a test that calls a thing from one goroutine proves nothing. So each type that says in its comment that it may be used concurrently has one test that does just that, from eight goroutines, for a tenth of a second.

> **Examples before rules.** A rule without an example is a riddle, and an example without a rule is an anecdote. Of the two, the anecdote is more useful. People copy the example, change it until it breaks, and read the rule when it does. That is why every snippet in our manuals is run by the tests: an example that does not work teaches the wrong thing to exactly the people who trusted us.

---

Good tests make people brave. You can see it in the reviews: changes get smaller, renames get bolder, and the word "hopefully" goes away. If your tests make people careful instead, do not write more of them. Find the one that hurts the most, ask what it is trying to say, and say it better.
', 'en', 'published', 1715601660000, 1715601660000);
INSERT INTO posts (id, slug, title, summary, body, lang, status, published_at, updated_at) VALUES (5, 'the-first-sentence', 'The first sentence', 'A reader decides with the first sentence whether to read the second.', 'Most of what we write at work is read once, in a hurry, by somebody who wants to get back to something else. That is no reason to write badly. It is a reason to put the answer first, to use the same word for the same thing, and to stop when it has been said. The notes below come from three years of editing each other.

## The first sentence

A reader decides with the first sentence whether to read the second. So it says what the thing is, in words that the reader has already, and what it is good for. It does not say that the thing is modern, simple or powerful, because nobody has ever looked for something old, complicated and weak. We write the first sentence last, and then throw away the paragraph in front of it.

## Examples before rules

A rule without an example is a riddle, and an example without a rule is an anecdote. Of the two, the anecdote is more useful. People copy the example, change it until it breaks, and read the rule when it does. That is why every snippet in our manuals is run by the tests: an example that does not work teaches the wrong thing to exactly the people who trusted us.

## Words that wander

If a thing is a "post" on one page, an "article" on the next and an "entry" in the interface, then readers will look for the difference, and the careful ones will find one. We keep a list of about forty words, each with one line that says what it means here, and a second column of words that we do not use for it. New colleagues say that it is the most useful page of the whole manual.

## Cutting

The cheapest way to improve a text is to make it shorter. We print the draft, take a pencil, and mark every sentence that could go without anyone asking for it back. Usually that is a third. The sentences that explain what the text is about to do go first, those that apologise go second, and the clever one that the author is fondest of goes last, after some discussion.

> **Weighing everything.** A cup of flour can be a hundred and twenty grams or a hundred and sixty, depending on the mood of the cook. A scale ends the discussion. Bakers write amounts as shares of the flour: seventy per cent water, two per cent salt, twenty per cent starter. Once you think that way, a recipe for one loaf is a recipe for nine, and two recipes that looked quite different turn out to be the same.

---

There is no trick to it, except to care about a person whom you cannot see. Imagine them with your text on one half of the screen and the problem on the other, late in the day, with a colleague waiting. Write for that person, and everyone else will be fine, too.
', 'en', 'published', 1715923860000, 1716103860000);
INSERT INTO posts (id, slug, title, summary, body, lang, status, published_at, updated_at) VALUES (246, 'invalidation-from-the-write-the-details', 'Invalidation from the write: the details', 'For years our pages expired after five minutes, and for years authors pressed reload and swore.', 'We added our first cache because a page was slow, and our second because the first one was wrong. Since then we have come to see a cache as a small distributed system that happens to live inside one process: there are two copies of something, they can disagree, and somebody has to say which of them wins. What follows is what we would have liked to know on that first afternoon.

## Invalidation from the write

For years our pages expired after five minutes, and for years authors pressed reload and swore. The better signal was there all along: we know when a post changes, because we are the ones who change it. Now every write says what it has touched, and whatever was built from that is dropped before the write returns. The work was in finding all the writes:

1. the editor, of course;
2. the job that publishes scheduled posts;
3. the script that renames a tag.

## Stale is a decision

Serving something old while something new is being fetched is often the best answer of all: nobody waits, and the next reader sees the change. But it has to be a decision for each kind of content. A list of recent posts may be a few seconds behind without anyone caring. A page that was taken down for legal reasons may not. We keep a table with one row for each kind of content and one column that says how old is too old.

## Many readers, one load

When a popular entry disappears, everyone who wants it notices at once. Without care, fifty requests run the same slow query side by side, the database slows down, and more requests pile up behind them. The cure is to let the first request do the work while the others wait for its result. It sounds like a detail, and it is the difference between a short pause and an outage on the day when a post is read by the whole office.

## Keys that mean one thing

A key has to contain everything that changes the answer, and nothing that does not. Leave out the language and a reader in Beijing gets an English page; put in a tracking parameter and the same page is stored a thousand times. We write the key of every page down as a list:

- the kind of answer, such as page, feed or list;
- the path, after redirects;
- the parameters that the page reads, in alphabetical order.

Anything else that a request brings is dropped before the key is made.

## The cost of a miss

People quote hit ratios because they are easy to measure, but a ratio says little about what the misses cost. Ninety-nine hits that save a millisecond are worth less than one avoided miss that takes four seconds. We now multiply: misses times the time of a load, summed by kind of page. The list that came out of that looked nothing like the list of the most popular pages, and the first entry was a sitemap that only robots read.

> **Reading your own writes.** With a copy of the database on another machine comes a question that is easy to overlook: when the author saves a post and is sent back to it, which copy answers? If it is the one that is half a second behind, the post looks unchanged, and the author saves again. Either the reads that follow a write go to the same place as the write, or the page says that it may be behind. Hoping is not on the list.

---

None of this is new, and little of it is difficult. What makes it hard is that a cache fails politely: nothing crashes, no alarm rings, a page is merely wrong for somebody else. So test it the way you would test a lock, with many readers and writers at once and an oracle that has no cache at all, and be suspicious of every afternoon that goes too well.
', 'en', 'draft', NULL, 1793259000000);
INSERT INTO posts (id, slug, title, summary, body, lang, status, published_at, updated_at) VALUES (247, 'the-shape-of-a-query-the-details', 'The shape of a query: the details', 'The slowest request we ever had ran two hundred fast queries.', 'There are weeks in which the database is the most boring part of the system, and we work hard to have more of them. Boring means that the schema is written down, that the slow queries are known by name, and that somebody restored a backup recently and did not enjoy it. These notes collect what made ours boring, in no particular order.

## The shape of a query

The slowest request we ever had ran two hundred fast queries. Each took a fraction of a millisecond, and each was written by somebody sensible: load the posts, and for each post load its tags. Fetching the tags together with the posts made it one query and a page that nobody complains about. A counter of queries for each request, printed in the log of the test server, has kept the pattern from coming back.

## Backups are restores

Nobody needs backups; people need restores. A job copies the file every night with the online backup interface, because copying a database that is being written to with an ordinary tool gives you a file that is almost right. Another job takes the newest copy every morning, opens it, checks its integrity and counts the posts. The count goes to the same channel as the weather, so its absence is noticed before lunch.

## Migrations without fear

A migration is a program that runs once, on data that you have never seen, at a moment when everybody is watching. So we keep each one small, test it on a copy of the real file, and never edit one that has been released. Adding a column is easy. Taking one away is done in three releases: stop writing it, stop reading it, drop it. It feels slow until the day when you have to go back by one release.

## Indexes that earn their keep

Every index makes reads faster and writes slower, and nobody ever removes one. Twice a year we go through the list and ask each of them for a query that needs it. A partial index is often the better tool: if the public only ever sees published posts, an index over those alone is smaller, and the planner uses it as soon as the query repeats the condition. Three indexes left us this spring, and no reader has noticed.

## One writer at a time

An embedded database lets many read at once and one write. Code that opens ten connections and hopes for the best will meet an error that says the database is locked, usually on the busiest day. We keep one connection for writing and queue on it in the program, where a queue is cheap and fair, and a pool of others that may only read:

```sql
PRAGMA journal_mode = WAL;
PRAGMA busy_timeout = 5000;
PRAGMA foreign_keys = ON;
```

Since then we have not seen the error once.

> **Robots, good and bad.** Half of our visitors are programs. The good ones read the file that says where they may go and the map that says what is new, and come back at a decent pace. For the others there is no file. What has helped is to make every page cheap: a crawler that asks for the same list with a thousand invented parameters should get a thousand short refusals, and not a thousand queries.

---

We will outgrow the one file one day, and we look forward to the post about it. Until then the whole state of the site fits on a stick, starts in the time it takes to open a file, and can be studied in a shell with three commands. When somebody asks when we are going to move to a real database, we show them the restore.
', 'en', 'draft', NULL, 1793259000000);
INSERT INTO posts (id, slug, title, summary, body, lang, status, published_at, updated_at) VALUES (248, 'forms-without-scripts-the-details', 'Forms without scripts: the details', 'Search, comments and the letter to the editor work with a form, a button and a response.', 'A page that is text, a style sheet and nothing else loads before you have finished deciding to wait for it. We keep ours that way out of laziness as much as principle: what is not there does not break. Some things cannot be left out, though, and this post is about doing them with what the browser already knows.

## Forms without scripts

Search, comments and the letter to the editor work with a form, a button and a response. When the connection is bad the browser shows that it is waiting, in a way that its owner knows. When it fails, reload asks before it sends again. It took a while to see how much of what we used to write in scripts was an imitation of this, with fewer languages and worse keyboard support.

## Addresses that stay

An address is a promise as well. When the title of a post changes, the slug can change with it, but somewhere there is a letter, a book or a very long thread with the old one in it. Each post has a short link with a number that never changes, and that link redirects to wherever the post lives today. It is the one we print, and the one that goes into feeds as the identifier.

## Feeds are not dead

Every few years somebody announces the end of feeds, and every month the log shows a few thousand programs fetching ours. They are patient, they ask politely whether anything has changed, and there is a person behind each of them who wanted to read what we write. A feed needs little: full text, absolute links, an identifier for each entry that survives a change of title, and a date that is not the date of the last deployment.

## Validators and short answers

An entity tag is a fingerprint of a response. The browser keeps it and asks, next time, for the page unless it is still the same; the server compares two short strings and answers with nothing but a status line. It works only if the fingerprint is of the bytes, and if the same state gives the same bytes every time. We found three pages that printed the time at which they were made, for no reason that anybody could remember, and were therefore always new.

## Headers that say what they mean

A response says how it may be used in a handful of headers, and each of them is a promise to strangers. If you say that something is public for an hour, then somewhere a machine that you will never meet is going to serve it for an hour, whatever you do in the meantime. We say so only of files whose names change with their content. Everything else is marked to be asked about again, which costs one short request when nothing has changed.

> **What coverage cannot see.** A line that ran is not a line that was checked. We learned this from a mutation run, which breaks the program on purpose in a thousand small ways and asks the tests to notice. A quarter of the breaks went by unnoticed, most of them in functions with full coverage. They were missing not lines but questions: what if it is empty, what if it is twice, what if the second call comes first.

---

The protocol rewards those who tell it the truth. Say what a thing is, when it changed and for whom it is meant, and caches, readers, robots and screen readers will do the rest without a line of code from you. It is the closest thing to a free lunch that our trade has, and it has been on the table since 1997.
', 'en', 'scheduled', 2209021200000, 1793259000000);
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
INSERT INTO post_tags (post_id, tag_id) VALUES (246, 1);
INSERT INTO post_tags (post_id, tag_id) VALUES (246, 2);
INSERT INTO post_tags (post_id, tag_id) VALUES (2, 4);
INSERT INTO post_tags (post_id, tag_id) VALUES (247, 4);
INSERT INTO post_tags (post_id, tag_id) VALUES (247, 5);
INSERT INTO post_tags (post_id, tag_id) VALUES (3, 7);
INSERT INTO post_tags (post_id, tag_id) VALUES (248, 7);
INSERT INTO post_tags (post_id, tag_id) VALUES (248, 8);
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
INSERT INTO pages (id, slug, title, body, lang, updated_at) VALUES (2, 'colophon', 'Colophon', 'This site is one program and one file. The program is an example that comes
with a cache library; the file is its database.

- Posts are written in Markdown, turned into HTML and sanitised for every
  request that no cache answers.
- There are no scripts, no cookies and no pictures that you did not ask for.
- The type is whatever your machine is fond of.

Everything that can be seen here is made from the database alone, so two servers
with the same data answer with the same bytes.
', 'en', 1714635000000);
INSERT INTO pages (id, slug, title, body, lang, updated_at) VALUES (3, 'contact', 'Contact', 'Letters reach us best. The door to the yard is open on working days from nine
to five, and there is usually somebody in the garden. Corrections are welcome:
say which post it is about, by its short link, and what it should say.
', 'en', 1714635000000);
INSERT INTO pages (id, slug, title, body, lang, updated_at) VALUES (4, 'guanyu', '关于', '我们几个人在一间临着小院的屋子里工作，写一些替别人保管数据的程序，也把不写下来就会忘掉的事情写在这里。

## 这里有什么

中文部分有关于缓存、茶和城市步行的文章；更多的文章是[英文](/)的。大约每周更新一次，
可以用 [RSS](/zh/rss.xml) 或 [Atom](/zh/atom.xml) 订阅，订阅里是全文。
', 'zh', 1714635000000);
INSERT INTO pages (id, slug, title, body, lang, updated_at) VALUES (5, 'lianxi', '联系', '最好写信来。工作日九点到五点，小院的门是开着的。
如果发现错误，请告诉我们是哪一篇，以及应该怎么写。
', 'zh', 1714635000000);
INSERT INTO nav_items (position, lang, label, url) VALUES (0, 'en', 'Home', '/');
INSERT INTO nav_items (position, lang, label, url) VALUES (1, 'en', 'About', '/pages/about');
INSERT INTO nav_items (position, lang, label, url) VALUES (2, 'en', 'Colophon', '/pages/colophon');
INSERT INTO nav_items (position, lang, label, url) VALUES (3, 'en', 'Contact', '/pages/contact');
INSERT INTO nav_items (position, lang, label, url) VALUES (4, 'zh', '首页', '/zh/');
INSERT INTO nav_items (position, lang, label, url) VALUES (5, 'zh', '关于', '/zh/pages/guanyu');
INSERT INTO nav_items (position, lang, label, url) VALUES (6, 'zh', '联系', '/zh/pages/lianxi');
INSERT INTO settings (id, value) VALUES (1, '{"base_url":"http://127.0.0.1:18096","author":"The Yard","posts_per_page":10,"feed_items":20,"texts":{"en":{"title":"Notes from the Yard","description":"On programs, bread, walking and a garden of six by nine metres."},"zh":{"title":"小院札记","description":"关于程序、茶、走路，以及一个六米乘九米的小院。"}}}');
INSERT INTO api_keys (prefix, label, hash, scopes, created_at, revoked_at) VALUES ('2hsboaz2', 'Seed', X'F6322644EAC6FE0A2027EAD45179F6979C70C1A6FD3A85D13F63146CB47F8C55', '["read"]', 1714635000000, NULL);
INSERT INTO revision (id, n) VALUES (1, 1);
DELETE FROM sqlite_sequence;
INSERT INTO sqlite_sequence (name, seq) VALUES ('goose_db_version', 2);
INSERT INTO sqlite_sequence (name, seq) VALUES ('posts', 248);
INSERT INTO sqlite_sequence (name, seq) VALUES ('pages', 5);
CREATE INDEX posts_public ON posts (lang, published_at DESC, id DESC) WHERE status = 'published';
CREATE INDEX posts_due ON posts (published_at) WHERE status = 'scheduled';
CREATE INDEX post_tags_tag ON post_tags (tag_id);
COMMIT;
