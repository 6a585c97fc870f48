-- Sample posts for a new site.
INSERT INTO tags (slug, name) VALUES
('caching', 'Caching'),
('performance', 'Performance'),
('reliability', 'Reliability'),
('databases', 'Databases'),
('sqlite', 'SQLite'),
('operations', 'Operations'),
('http', 'HTTP'),
('web', 'The web'),
('standards', 'Standards'),
('testing', 'Testing'),
('go', 'Go'),
('tooling', 'Tooling'),
('writing', 'Writing'),
('documentation', 'Documentation'),
('editing', 'Editing'),
('baking', 'Baking'),
('kitchen', 'In the kitchen'),
('fermentation', 'Fermentation'),
('walking', 'Walking'),
('maps', 'Maps'),
('weather', 'Weather'),
('gardening', 'Gardening'),
('soil', 'Soil'),
('seasons', 'Seasons');
INSERT INTO posts (slug, title, summary, body, status, published_at, updated_at) VALUES
('the-cost-of-a-miss', 'The cost of a miss', 'People quote hit ratios because they are easy to measure, but a ratio says little about what the misses cost.', 'We added our first cache because a page was slow, and our second because the first one was wrong. Since then we have come to see a cache as a small distributed system that happens to live inside one process: there are two copies of something, they can disagree, and somebody has to say which of them wins. What follows is what we would have liked to know on that first afternoon.

People quote hit ratios because they are easy to measure, but a ratio says little about what the misses cost. Ninety-nine hits that save a millisecond are worth less than one avoided miss that takes four seconds. We now multiply: misses times the time of a load, summed by kind of page. The list that came out of that looked nothing like the list of the most popular pages, and the first entry was a sitemap that only robots read.

If you take one thing from this, let it be the order of questions. First ask what may be old and for how long. Then ask who knows when it changes. Only then ask where to keep it. Teams that begin with the last question end up with a very fast way of being wrong, and we say so as people who have built it twice.
', 'published', 1714635000000, 1714635000000),
('one-writer-at-a-time', 'One writer at a time', 'An embedded database lets many read at once and one write.', 'There are weeks in which the database is the most boring part of the system, and we work hard to have more of them. Boring means that the schema is written down, that the slow queries are known by name, and that somebody restored a backup recently and did not enjoy it. These notes collect what made ours boring, in no particular order.

An embedded database lets many read at once and one write. Code that opens ten connections and hopes for the best will meet an error that says the database is locked, usually on the busiest day. We keep one connection for writing and queue on it in the program, where a queue is cheap and fair, and a pool of others that may only read:

```sql
PRAGMA journal_mode = WAL;
PRAGMA busy_timeout = 5000;
PRAGMA foreign_keys = ON;
```

Since then we have not seen the error once.

If your database is exciting, write down what excited you last and make it a test, an index or a line in the manual. Do that for a year. There will be fewer stories to tell, and more evenings to tell other stories in, which we recommend.
', 'published', 1715758200000, 1715758200000),
('headers-that-say-what-they-mean', 'Headers that say what they mean', 'A response says how it may be used in a handful of headers, and each of them is a promise to strangers.', 'A page that is text, a style sheet and nothing else loads before you have finished deciding to wait for it. We keep ours that way out of laziness as much as principle: what is not there does not break. Some things cannot be left out, though, and this post is about doing them with what the browser already knows.

A response says how it may be used in a handful of headers, and each of them is a promise to strangers. If you say that something is public for an hour, then somewhere a machine that you will never meet is going to serve it for an hour, whatever you do in the meantime. We say so only of files whose names change with their content. Everything else is marked to be asked about again, which costs one short request when nothing has changed.

None of these changes made it into a release note. Together they took a quarter off the traffic, and the letters that begin with "your site used to" have stopped. That is what good plumbing sounds like. The next time a page feels slow, look at what it says about itself before you look at what it does.
', 'published', 1716881400000, 1716881400000),
('tables-and-their-rows', 'Tables and their rows', 'When five tests differ in two values, they are a table with five rows.', 'We have a rule that a test may be deleted by anyone who can say what it no longer tells us. Since then the suite is smaller, faster and trusted, and there is a short list on the wall of the kinds of test that nobody has ever wanted to delete. This post goes through the list, with an example for each.

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
', 'published', 1718004600000, 1718004600000),
('the-first-sentence', 'The first sentence', 'A reader decides with the first sentence whether to read the second.', 'Documentation is the part of a program that runs in the reader. It has bugs, it can be tested, and it falls behind when nobody looks after it. We began to treat it that way after a week in which three people lost a day each to one wrong sentence. Since then a change that makes a sentence wrong is not finished until the sentence is right.

A reader decides with the first sentence whether to read the second. So it says what the thing is, in words that the reader has already, and what it is good for. It does not say that the thing is modern, simple or powerful, because nobody has ever looked for something old, complicated and weak. We write the first sentence last, and then throw away the paragraph in front of it.

Rules like these are easy to collect and easy to follow badly. When one of them makes a sentence worse, break it and move on; that is a rule as well. What counts is that somebody read the page before the reader did, with the reader in mind, and was allowed to change it.
', 'published', 1719127800000, 1719127800000),
('the-starter', 'The starter', 'A starter is flour and water in which wild yeast and bacteria have come to an agreement.', 'There are two kinds of recipe: those that tell you what to do, and those that tell you what to look for. Ovens, flours and kitchens differ so much that the first kind works mostly for the person who wrote it. We have been trying to turn our favourite recipes into the second kind, and have learned on the way what we had been looking at all along.

A starter is flour and water in which wild yeast and bacteria have come to an agreement. Feed it equal weights of flour and water, leave it where it is warm, and it will rise, hold and fall again in a rhythm that you can set a clock by. It is ready when a spoonful floats, or simply when it has doubled and smells of yoghurt and apples. Neglect it for a week and it sulks; two feedings later it has forgiven you.

Bake the same loaf ten times before you try another. The first three will be different for reasons that you do not understand, the next three for reasons that you do, and the last four will be bread. After that every recipe is a variation, and you can read most of them with one eye while you are doing something else.
', 'published', 1720251000000, 1720251000000),
('paper-maps', 'Paper maps', 'A paper map has no battery and shows everything at once.', 'Walking is the slowest way of getting anywhere that still gets you there, and the only one at which a landscape makes sense. At this speed you notice that the river is on the wrong side, that the village has two churches, that the wind has changed. What follows is a field guide for people who sit a great deal and would like to do less of it.

A paper map has no battery and shows everything at once. It takes a quarter of an hour to learn what the lines mean, and after that the hills stand up from the page: lines close together are steep, lines far apart are a rest. The scale to have is one to twenty-five thousand, on which four centimetres are a kilometre and every farm has its place. Fold it so that the day''s walk is on the outside, and write on it afterwards.

You do not need a mountain for any of this. An hour before breakfast on the same path, every day for a month, will show you more change than a week of famous views. Take the same photograph each time, from the same gate. At the end of the year you will have a small book about light, and your knees will thank you.
', 'published', 1721374200000, 1721374200000),
('soil-comes-first', 'Soil comes first', 'Plants do not grow in the ground so much as in what lives there.', 'Gardening books are written for the garden of the author. Ours is in shade until eleven, on soil that a digger left behind, in a town where the last frost comes when it pleases. What works here was found by asking the neighbours and by writing down what died. We share the list in the hope that somebody''s yard is as bad as ours.

Plants do not grow in the ground so much as in what lives there. A spadeful of good soil smells of the woods, falls apart in the hand and has worms in it; ours had bricks. Every autumn we cover the beds with leaves and half-ripe compost, as thick as a hand is wide, and do not dig. By spring most of it has been pulled below by creatures that do this for a living. In the fourth year a fork went in by its own weight.

Begin small: one bed, one compost heap, three things that you like to eat. Leave one corner alone and watch what comes by itself. Next year you will know where the sun stands in May, which is more than any book can tell you, and you will want a second bed. There is no cure for that, and we have stopped looking.
', 'published', 1722497400000, 1722497400000),
('keys-that-mean-one-thing', 'Keys that mean one thing', 'A key has to contain everything that changes the answer, and nothing that does not.', 'We added our first cache because a page was slow, and our second because the first one was wrong. Since then we have come to see a cache as a small distributed system that happens to live inside one process: there are two copies of something, they can disagree, and somebody has to say which of them wins. What follows is what we would have liked to know on that first afternoon.

A key has to contain everything that changes the answer, and nothing that does not. Leave out the language and a reader in Beijing gets an English page; put in a tracking parameter and the same page is stored a thousand times. We write the key of every page down as a list:

- the kind of answer, such as page, feed or list;
- the path, after redirects;
- the parameters that the page reads, in alphabetical order.

Anything else that a request brings is dropped before the key is made.

If you take one thing from this, let it be the order of questions. First ask what may be old and for how long. Then ask who knows when it changes. Only then ask where to keep it. Teams that begin with the last question end up with a very fast way of being wrong, and we say so as people who have built it twice.
', 'published', 1726990200000, 1726990200000),
('indexes-that-earn-their-keep', 'Indexes that earn their keep', 'Every index makes reads faster and writes slower, and nobody ever removes one.', 'There are weeks in which the database is the most boring part of the system, and we work hard to have more of them. Boring means that the schema is written down, that the slow queries are known by name, and that somebody restored a backup recently and did not enjoy it. These notes collect what made ours boring, in no particular order.

Every index makes reads faster and writes slower, and nobody ever removes one. Twice a year we go through the list and ask each of them for a query that needs it. A partial index is often the better tool: if the public only ever sees published posts, an index over those alone is smaller, and the planner uses it as soon as the query repeats the condition. Three indexes left us this spring, and no reader has noticed.

If your database is exciting, write down what excited you last and make it a test, an index or a line in the manual. Do that for a year. There will be fewer stories to tell, and more evenings to tell other stories in, which we recommend.
', 'published', 1728113400000, 1728113400000),
('validators-and-short-answers', 'Validators and short answers', 'An entity tag is a fingerprint of a response.', 'A page that is text, a style sheet and nothing else loads before you have finished deciding to wait for it. We keep ours that way out of laziness as much as principle: what is not there does not break. Some things cannot be left out, though, and this post is about doing them with what the browser already knows.

An entity tag is a fingerprint of a response. The browser keeps it and asks, next time, for the page unless it is still the same; the server compares two short strings and answers with nothing but a status line. It works only if the fingerprint is of the bytes, and if the same state gives the same bytes every time. We found three pages that printed the time at which they were made, for no reason that anybody could remember, and were therefore always new.

None of these changes made it into a release note. Together they took a quarter off the traffic, and the letters that begin with "your site used to" have stopped. That is what good plumbing sounds like. The next time a page feels slow, look at what it says about itself before you look at what it does.
', 'published', 1729236600000, 1729236600000),
('time-under-control', 'Time under control', 'Tests that sleep are slow when they pass and wrong when they fail.', 'We have a rule that a test may be deleted by anyone who can say what it no longer tells us. Since then the suite is smaller, faster and trusted, and there is a short list on the wall of the kinds of test that nobody has ever wanted to delete. This post goes through the list, with an example for each.

Tests that sleep are slow when they pass and wrong when they fail. A program that takes its clock from outside can be tested at midnight, on the last day of February and a second before a deadline, in no time at all. Newer versions of the language go further and run a test in a bubble in which time moves only when everybody waits. We deleted the last real sleep in March, and the suite has not failed by accident since.

All of this takes time, and we are asked now and then where it comes from. It comes from the evenings that we no longer spend looking for something that a sentence could have told us. Begin with the last bug: write down the sentence that would have caught it, and make the machine read it every day.
', 'published', 1730359800000, 1730359800000),
('examples-before-rules', 'Examples before rules', 'A rule without an example is a riddle, and an example without a rule is an anecdote.', 'Documentation is the part of a program that runs in the reader. It has bugs, it can be tested, and it falls behind when nobody looks after it. We began to treat it that way after a week in which three people lost a day each to one wrong sentence. Since then a change that makes a sentence wrong is not finished until the sentence is right.

A rule without an example is a riddle, and an example without a rule is an anecdote. Of the two, the anecdote is more useful. People copy the example, change it until it breaks, and read the rule when it does. That is why every snippet in our manuals is run by the tests: an example that does not work teaches the wrong thing to exactly the people who trusted us.

Rules like these are easy to collect and easy to follow badly. When one of them makes a sentence worse, break it and move on; that is a rule as well. What counts is that somebody read the page before the reader did, with the reader in mind, and was allowed to change it.
', 'published', 1731483000000, 1731483000000),
('weighing-everything', 'Weighing everything', 'A cup of flour can be a hundred and twenty grams or a hundred and sixty, depending on the mood of the cook.', 'There are two kinds of recipe: those that tell you what to do, and those that tell you what to look for. Ovens, flours and kitchens differ so much that the first kind works mostly for the person who wrote it. We have been trying to turn our favourite recipes into the second kind, and have learned on the way what we had been looking at all along.

A cup of flour can be a hundred and twenty grams or a hundred and sixty, depending on the mood of the cook. A scale ends the discussion. Bakers write amounts as shares of the flour: seventy per cent water, two per cent salt, twenty per cent starter. Once you think that way, a recipe for one loaf is a recipe for nine, and two recipes that looked quite different turn out to be the same.

Bake the same loaf ten times before you try another. The first three will be different for reasons that you do not understand, the next three for reasons that you do, and the last four will be bread. After that every recipe is a variation, and you can read most of them with one eye while you are doing something else.
', 'published', 1732606200000, 1732606200000),
('reading-the-sky', 'Reading the sky', 'Forecasts are good for tomorrow and vague about the next two hours, which are the ones that matter on a hill.', 'Walking is the slowest way of getting anywhere that still gets you there, and the only one at which a landscape makes sense. At this speed you notice that the river is on the wrong side, that the village has two churches, that the wind has changed. What follows is a field guide for people who sit a great deal and would like to do less of it.

Forecasts are good for tomorrow and vague about the next two hours, which are the ones that matter on a hill. High thin cloud that thickens from the west means rain by evening. A wind that turns against the clock and freshens means sooner. Cumulus that grows taller than wide before noon will be thunder by four. None of it is certain, and all of it is better than looking at a telephone that has no signal.

You do not need a mountain for any of this. An hour before breakfast on the same path, every day for a month, will show you more change than a week of famous views. Take the same photograph each time, from the same gate. At the end of the year you will have a small book about light, and your knees will thank you.
', 'published', 1733729400000, 1733729400000),
('compost', 'Compost', 'A heap needs something green, something brown, some water and some air, and it forgives most mistakes.', 'Gardening books are written for the garden of the author. Ours is in shade until eleven, on soil that a digger left behind, in a town where the last frost comes when it pleases. What works here was found by asking the neighbours and by writing down what died. We share the list in the hope that somebody''s yard is as bad as ours.

A heap needs something green, something brown, some water and some air, and it forgives most mistakes. Kitchen scraps and grass are green; leaves, straw and torn cardboard are brown. If it smells, add brown and turn it. If nothing happens, add green and water it. When it is working it is warm in the middle, even under snow, and after nine months it has become something that you will be proud of in front of guests, to their surprise.

Begin small: one bed, one compost heap, three things that you like to eat. Leave one corner alone and watch what comes by itself. Next year you will know where the sun stands in May, which is more than any book can tell you, and you will want a second bed. There is no cure for that, and we have stopped looking.
', 'published', 1734852600000, 1734852600000),
('many-readers-one-load', 'Many readers, one load', 'When a popular entry disappears, everyone who wants it notices at once.', 'We added our first cache because a page was slow, and our second because the first one was wrong. Since then we have come to see a cache as a small distributed system that happens to live inside one process: there are two copies of something, they can disagree, and somebody has to say which of them wins. What follows is what we would have liked to know on that first afternoon.

When a popular entry disappears, everyone who wants it notices at once. Without care, fifty requests run the same slow query side by side, the database slows down, and more requests pile up behind them. The cure is to let the first request do the work while the others wait for its result. It sounds like a detail, and it is the difference between a short pause and an outage on the day when a post is read by the whole office.

If you take one thing from this, let it be the order of questions. First ask what may be old and for how long. Then ask who knows when it changes. Only then ask where to keep it. Teams that begin with the last question end up with a very fast way of being wrong, and we say so as people who have built it twice.
', 'published', 1739345400000, 1739345400000),
('migrations-without-fear', 'Migrations without fear', 'A migration is a program that runs once, on data that you have never seen, at a moment when everybody is watching.', 'There are weeks in which the database is the most boring part of the system, and we work hard to have more of them. Boring means that the schema is written down, that the slow queries are known by name, and that somebody restored a backup recently and did not enjoy it. These notes collect what made ours boring, in no particular order.

A migration is a program that runs once, on data that you have never seen, at a moment when everybody is watching. So we keep each one small, test it on a copy of the real file, and never edit one that has been released. Adding a column is easy. Taking one away is done in three releases: stop writing it, stop reading it, drop it. It feels slow until the day when you have to go back by one release.

If your database is exciting, write down what excited you last and make it a test, an index or a line in the manual. Do that for a year. There will be fewer stories to tell, and more evenings to tell other stories in, which we recommend.
', 'published', 1740468600000, 1740468600000),
('feeds-are-not-dead', 'Feeds are not dead', 'Every few years somebody announces the end of feeds, and every month the log shows a few thousand programs fetching ours.', 'A page that is text, a style sheet and nothing else loads before you have finished deciding to wait for it. We keep ours that way out of laziness as much as principle: what is not there does not break. Some things cannot be left out, though, and this post is about doing them with what the browser already knows.

Every few years somebody announces the end of feeds, and every month the log shows a few thousand programs fetching ours. They are patient, they ask politely whether anything has changed, and there is a person behind each of them who wanted to read what we write. A feed needs little: full text, absolute links, an identifier for each entry that survives a change of title, and a date that is not the date of the last deployment.

None of these changes made it into a release note. Together they took a quarter off the traffic, and the letters that begin with "your site used to" have stopped. That is what good plumbing sounds like. The next time a page feels slow, look at what it says about itself before you look at what it does.
', 'published', 1741591800000, 1741591800000),
('an-oracle-next-door', 'An oracle next door', 'The strongest tests we have compare two programs that should agree: the clever one and the stupid one.', 'We have a rule that a test may be deleted by anyone who can say what it no longer tells us. Since then the suite is smaller, faster and trusted, and there is a short list on the wall of the kinds of test that nobody has ever wanted to delete. This post goes through the list, with an example for each.

The strongest tests we have compare two programs that should agree: the clever one and the stupid one. The stupid one has no cache, no index and no shortcuts; it fits on a screen, and anyone can see that it is right. A generator invents a few hundred operations, both programs perform them, and the answers must match to the byte. When they do not, the tool shrinks the list to the three operations that matter.

All of this takes time, and we are asked now and then where it comes from. It comes from the evenings that we no longer spend looking for something that a sentence could have told us. Begin with the last bug: write down the sentence that would have caught it, and make the machine read it every day.
', 'published', 1742715000000, 1742715000000),
('words-that-wander', 'Words that wander', 'If a thing is a "post" on one page, an "article" on the next and an "entry" in the interface, then readers will look for the difference, and the careful ones will find one.', 'Documentation is the part of a program that runs in the reader. It has bugs, it can be tested, and it falls behind when nobody looks after it. We began to treat it that way after a week in which three people lost a day each to one wrong sentence. Since then a change that makes a sentence wrong is not finished until the sentence is right.

If a thing is a "post" on one page, an "article" on the next and an "entry" in the interface, then readers will look for the difference, and the careful ones will find one. We keep a list of about forty words, each with one line that says what it means here, and a second column of words that we do not use for it. New colleagues say that it is the most useful page of the whole manual.

Rules like these are easy to collect and easy to follow badly. When one of them makes a sentence worse, break it and move on; that is a rule as well. What counts is that somebody read the page before the reader did, with the reader in mind, and was allowed to change it.
', 'published', 1743838200000, 1743838200000),
('slow-dough', 'Slow dough', 'Fermentation does the work of kneading if you let it.', 'There are two kinds of recipe: those that tell you what to do, and those that tell you what to look for. Ovens, flours and kitchens differ so much that the first kind works mostly for the person who wrote it. We have been trying to turn our favourite recipes into the second kind, and have learned on the way what we had been looking at all along.

Fermentation does the work of kneading if you let it. Mix everything until no dry flour is left, wait half an hour, and the dough that tore before will stretch. Fold it four times in the first two hours, then leave it alone. In a cold kitchen that takes until the evening, in a warm one until lunch. The clock is a poor guide; look for a dome, for bubbles at the side of the bowl, and for a dough that trembles when it is moved.

Bake the same loaf ten times before you try another. The first three will be different for reasons that you do not understand, the next three for reasons that you do, and the last four will be bread. After that every recipe is a variation, and you can read most of them with one eye while you are doing something else.
', 'published', 1744961400000, 1744961400000),
('feet-first', 'Feet first', 'Blisters are made in the first hour and felt in the fifth.', 'Walking is the slowest way of getting anywhere that still gets you there, and the only one at which a landscape makes sense. At this speed you notice that the river is on the wrong side, that the village has two churches, that the wind has changed. What follows is a field guide for people who sit a great deal and would like to do less of it.

Blisters are made in the first hour and felt in the fifth. The rule is to stop at the first warm spot, however silly it feels, and put something over it. Shoes should be half a size too large, because feet grow during the day; socks should be wool, without seams, and there should be a second pair in the bag. Boots that were bought for the journey are for the next one.

You do not need a mountain for any of this. An hour before breakfast on the same path, every day for a month, will show you more change than a week of famous views. Take the same photograph each time, from the same gate. At the end of the year you will have a small book about light, and your knees will thank you.
', 'published', 1746084600000, 1746084600000),
('water-in-the-evening', 'Water in the evening', 'A can of water at noon in July is mostly a present to the sky.', 'Gardening books are written for the garden of the author. Ours is in shade until eleven, on soil that a digger left behind, in a town where the last frost comes when it pleases. What works here was found by asking the neighbours and by writing down what died. We share the list in the hope that somebody''s yard is as bad as ours.

A can of water at noon in July is mostly a present to the sky. We water in the evening or before work, seldom and a great deal at a time, so that the roots go down to look for it. A layer of straw keeps the ground moist for days. A finger pushed into the soil as far as it goes tells you more than any gauge; if it is damp at the tip, leave the can where it is.

Begin small: one bed, one compost heap, three things that you like to eat. Leave one corner alone and watch what comes by itself. Next year you will know where the sun stands in May, which is more than any book can tell you, and you will want a second bed. There is no cure for that, and we have stopped looking.
', 'published', 1747207800000, 1747207800000),
('stale-is-a-decision', 'Stale is a decision', 'Serving something old while something new is being fetched is often the best answer of all: nobody waits, and the next reader sees the change.', 'We added our first cache because a page was slow, and our second because the first one was wrong. Since then we have come to see a cache as a small distributed system that happens to live inside one process: there are two copies of something, they can disagree, and somebody has to say which of them wins. What follows is what we would have liked to know on that first afternoon.

Serving something old while something new is being fetched is often the best answer of all: nobody waits, and the next reader sees the change. But it has to be a decision for each kind of content. A list of recent posts may be a few seconds behind without anyone caring. A page that was taken down for legal reasons may not. We keep a table with one row for each kind of content and one column that says how old is too old.

If you take one thing from this, let it be the order of questions. First ask what may be old and for how long. Then ask who knows when it changes. Only then ask where to keep it. Teams that begin with the last question end up with a very fast way of being wrong, and we say so as people who have built it twice.
', 'published', 1751700600000, 1751700600000),
('backups-are-restores', 'Backups are restores', 'Nobody needs backups; people need restores.', 'There are weeks in which the database is the most boring part of the system, and we work hard to have more of them. Boring means that the schema is written down, that the slow queries are known by name, and that somebody restored a backup recently and did not enjoy it. These notes collect what made ours boring, in no particular order.

Nobody needs backups; people need restores. A job copies the file every night with the online backup interface, because copying a database that is being written to with an ordinary tool gives you a file that is almost right. Another job takes the newest copy every morning, opens it, checks its integrity and counts the posts. The count goes to the same channel as the weather, so its absence is noticed before lunch.

If your database is exciting, write down what excited you last and make it a test, an index or a line in the manual. Do that for a year. There will be fewer stories to tell, and more evenings to tell other stories in, which we recommend.
', 'published', 1752823800000, 1752823800000),
('addresses-that-stay', 'Addresses that stay', 'An address is a promise as well.', 'A page that is text, a style sheet and nothing else loads before you have finished deciding to wait for it. We keep ours that way out of laziness as much as principle: what is not there does not break. Some things cannot be left out, though, and this post is about doing them with what the browser already knows.

An address is a promise as well. When the title of a post changes, the slug can change with it, but somewhere there is a letter, a book or a very long thread with the old one in it. Each post has a short link with a number that never changes, and that link redirects to wherever the post lives today. It is the one we print, and the one that goes into feeds as the identifier.

None of these changes made it into a release note. Together they took a quarter off the traffic, and the letters that begin with "your site used to" have stopped. That is what good plumbing sounds like. The next time a page feels slow, look at what it says about itself before you look at what it does.
', 'published', 1753947000000, 1753947000000),
('the-race-detector', 'The race detector', 'Data races are the mistakes that tests are worst at and tools are best at.', 'We have a rule that a test may be deleted by anyone who can say what it no longer tells us. Since then the suite is smaller, faster and trusted, and there is a short list on the wall of the kinds of test that nobody has ever wanted to delete. This post goes through the list, with an example for each.

Data races are the mistakes that tests are worst at and tools are best at. A run with the detector is slower by some factor, and we pay it on every change. The trick is to give it something to see: a test that calls a thing from one goroutine proves nothing. So each type that says in its comment that it may be used concurrently has one test that does just that, from eight goroutines, for a tenth of a second.

All of this takes time, and we are asked now and then where it comes from. It comes from the evenings that we no longer spend looking for something that a sentence could have told us. Begin with the last bug: write down the sentence that would have caught it, and make the machine read it every day.
', 'published', 1755070200000, 1755070200000),
('cutting', 'Cutting', 'The cheapest way to improve a text is to make it shorter.', 'Documentation is the part of a program that runs in the reader. It has bugs, it can be tested, and it falls behind when nobody looks after it. We began to treat it that way after a week in which three people lost a day each to one wrong sentence. Since then a change that makes a sentence wrong is not finished until the sentence is right.

The cheapest way to improve a text is to make it shorter. We print the draft, take a pencil, and mark every sentence that could go without anyone asking for it back. Usually that is a third. The sentences that explain what the text is about to do go first, those that apologise go second, and the clever one that the author is fondest of goes last, after some discussion.

Rules like these are easy to collect and easy to follow badly. When one of them makes a sentence worse, break it and move on; that is a rule as well. What counts is that somebody read the page before the reader did, with the reader in mind, and was allowed to change it.
', 'published', 1756193400000, 1756193400000),
('shaping', 'Shaping', 'Shaping is where patience is tested.', 'There are two kinds of recipe: those that tell you what to do, and those that tell you what to look for. Ovens, flours and kitchens differ so much that the first kind works mostly for the person who wrote it. We have been trying to turn our favourite recipes into the second kind, and have learned on the way what we had been looking at all along.

Shaping is where patience is tested. The aim is a tight skin around a soft middle, made with as few movements as possible. Flour on the top, none below, so that the dough can hold on to the table while you pull it towards you. A scraper does what wet hands cannot. If the skin tears, stop: let it rest for ten minutes under a cloth, and it will let you begin again as if nothing had happened.

Bake the same loaf ten times before you try another. The first three will be different for reasons that you do not understand, the next three for reasons that you do, and the last four will be bread. After that every recipe is a variation, and you can read most of them with one eye while you are doing something else.
', 'published', 1757316600000, 1757316600000),
('the-pace-of-the-slowest', 'The pace of the slowest', 'A group walks at the pace of its slowest member, or else it is not a group.', 'Walking is the slowest way of getting anywhere that still gets you there, and the only one at which a landscape makes sense. At this speed you notice that the river is on the wrong side, that the village has two churches, that the wind has changed. What follows is a field guide for people who sit a great deal and would like to do less of it.

A group walks at the pace of its slowest member, or else it is not a group. Whoever is quickest goes last and carries the map. When those in front stop to wait and set off again as soon as the others arrive, the tired get no rest at all and the rested get two; so we sit down together, ten minutes in each hour, and nobody stands up before the last one has eaten something.

You do not need a mountain for any of this. An hour before breakfast on the same path, every day for a month, will show you more change than a week of famous views. Take the same photograph each time, from the same gate. At the end of the year you will have a small book about light, and your knees will thank you.
', 'published', 1758439800000, 1758439800000),
('seeds-and-patience', 'Seeds and patience', 'Everything we sowed in February became long, pale and sad.', 'Gardening books are written for the garden of the author. Ours is in shade until eleven, on soil that a digger left behind, in a town where the last frost comes when it pleases. What works here was found by asking the neighbours and by writing down what died. We share the list in the hope that somebody''s yard is as bad as ours.

Everything we sowed in February became long, pale and sad. Seeds want light as much as warmth, and there is not enough of it on a window sill before the middle of March. Tomatoes sown late catch up with those sown early and overtake them. Beans do not like to be moved at all. And whatever the packet says about depth, the finer the seed, the less it wants to be covered.

Begin small: one bed, one compost heap, three things that you like to eat. Leave one corner alone and watch what comes by itself. Next year you will know where the sun stands in May, which is more than any book can tell you, and you will want a second bed. There is no cure for that, and we have stopped looking.
', 'published', 1759563000000, 1759563000000),
('invalidation-from-the-write', 'Invalidation from the write', 'For years our pages expired after five minutes, and for years authors pressed reload and swore.', 'We added our first cache because a page was slow, and our second because the first one was wrong. Since then we have come to see a cache as a small distributed system that happens to live inside one process: there are two copies of something, they can disagree, and somebody has to say which of them wins. What follows is what we would have liked to know on that first afternoon.

For years our pages expired after five minutes, and for years authors pressed reload and swore. The better signal was there all along: we know when a post changes, because we are the ones who change it. Now every write says what it has touched, and whatever was built from that is dropped before the write returns. The work was in finding all the writes:

1. the editor, of course;
2. the job that publishes scheduled posts;
3. the script that renames a tag.

If you take one thing from this, let it be the order of questions. First ask what may be old and for how long. Then ask who knows when it changes. Only then ask where to keep it. Teams that begin with the last question end up with a very fast way of being wrong, and we say so as people who have built it twice.
', 'published', 1764055800000, 1764055800000),
('the-shape-of-a-query', 'The shape of a query', 'The slowest request we ever had ran two hundred fast queries.', 'There are weeks in which the database is the most boring part of the system, and we work hard to have more of them. Boring means that the schema is written down, that the slow queries are known by name, and that somebody restored a backup recently and did not enjoy it. These notes collect what made ours boring, in no particular order.

The slowest request we ever had ran two hundred fast queries. Each took a fraction of a millisecond, and each was written by somebody sensible: load the posts, and for each post load its tags. Fetching the tags together with the posts made it one query and a page that nobody complains about. A counter of queries for each request, printed in the log of the test server, has kept the pattern from coming back.

If your database is exciting, write down what excited you last and make it a test, an index or a line in the manual. Do that for a year. There will be fewer stories to tell, and more evenings to tell other stories in, which we recommend.
', 'published', 1765179000000, 1765179000000),
('forms-without-scripts', 'Forms without scripts', 'Search, comments and the letter to the editor work with a form, a button and a response.', 'A page that is text, a style sheet and nothing else loads before you have finished deciding to wait for it. We keep ours that way out of laziness as much as principle: what is not there does not break. Some things cannot be left out, though, and this post is about doing them with what the browser already knows.

Search, comments and the letter to the editor work with a form, a button and a response. When the connection is bad the browser shows that it is waiting, in a way that its owner knows. When it fails, reload asks before it sends again. It took a while to see how much of what we used to write in scripts was an imitation of this, with fewer languages and worse keyboard support.

None of these changes made it into a release note. Together they took a quarter off the traffic, and the letters that begin with "your site used to" have stopped. That is what good plumbing sounds like. The next time a page feels slow, look at what it says about itself before you look at what it does.
', 'published', 1766302200000, 1766302200000),
('golden-files', 'Golden files', 'For output that people read, such as a page, a report or a message, an assertion on every detail is worse than a file with the expected text and a flag that rewrites it.', 'We have a rule that a test may be deleted by anyone who can say what it no longer tells us. Since then the suite is smaller, faster and trusted, and there is a short list on the wall of the kinds of test that nobody has ever wanted to delete. This post goes through the list, with an example for each.

For output that people read, such as a page, a report or a message, an assertion on every detail is worse than a file with the expected text and a flag that rewrites it. The file shows up in the review, where somebody reads it as a reader would. There is one condition: the output has to be the same every time. Anything that prints a time, a random number or the order of a map has to be fixed first, and is better for it.

All of this takes time, and we are asked now and then where it comes from. It comes from the evenings that we no longer spend looking for something that a sentence could have told us. Begin with the last bug: write down the sentence that would have caught it, and make the machine read it every day.
', 'published', 1767425400000, 1767425400000),
('the-reader-over-your-shoulder', 'The reader over your shoulder', 'Before we publish something we ask one person who has not worked on it to read it aloud.', 'Documentation is the part of a program that runs in the reader. It has bugs, it can be tested, and it falls behind when nobody looks after it. We began to treat it that way after a week in which three people lost a day each to one wrong sentence. Since then a change that makes a sentence wrong is not finished until the sentence is right.

Before we publish something we ask one person who has not worked on it to read it aloud. Where they stumble, the sentence is too long; where they stop and go back, a word was missing; where they laugh, we had better find out why. It takes ten minutes. No tool that we have tried comes close, though the one that finds doubled words has earned its place.

Rules like these are easy to collect and easy to follow badly. When one of them makes a sentence worse, break it and move on; that is a rule as well. What counts is that somebody read the page before the reader did, with the reader in mind, and was allowed to change it.
', 'published', 1768548600000, 1768548600000),
('heat-and-steam', 'Heat and steam', 'A loaf rises for the last time in the first ten minutes in the oven, and only as long as its skin stays soft.', 'There are two kinds of recipe: those that tell you what to do, and those that tell you what to look for. Ovens, flours and kitchens differ so much that the first kind works mostly for the person who wrote it. We have been trying to turn our favourite recipes into the second kind, and have learned on the way what we had been looking at all along.

A loaf rises for the last time in the first ten minutes in the oven, and only as long as its skin stays soft. That is what steam is for. A heavy pot with a lid keeps the water of the dough where it is needed; take the lid off after twenty minutes and let the crust turn darker than you think is right. Most of the taste of bread is in the part that beginners are afraid of.

Bake the same loaf ten times before you try another. The first three will be different for reasons that you do not understand, the next three for reasons that you do, and the last four will be bread. After that every recipe is a variation, and you can read most of them with one eye while you are doing something else.
', 'published', 1769671800000, 1769671800000),
('getting-lost-properly', 'Getting lost properly', 'Sooner or later the path is not where the map has it.', 'Walking is the slowest way of getting anywhere that still gets you there, and the only one at which a landscape makes sense. At this speed you notice that the river is on the wrong side, that the village has two churches, that the wind has changed. What follows is a field guide for people who sit a great deal and would like to do less of it.

Sooner or later the path is not where the map has it. The mistake is never the wrong turning; it is the quarter of an hour after it in which everybody knows and nobody says so. Stop. Find the last place of which you were sure. If it is less than twenty minutes away, go back to it, downhill or not. If it is further, follow something that cannot move, such as a stream, a wall or a railway, until it crosses something that has a name.

You do not need a mountain for any of this. An hour before breakfast on the same path, every day for a month, will show you more change than a week of famous views. Take the same photograph each time, from the same gate. At the end of the year you will have a small book about light, and your knees will thank you.
', 'published', 1770795000000, 1770795000000),
('pests-and-guests', 'Pests and guests', 'There are years of aphids and years of slugs, and in none of them did we win by fighting.', 'Gardening books are written for the garden of the author. Ours is in shade until eleven, on soil that a digger left behind, in a town where the last frost comes when it pleases. What works here was found by asking the neighbours and by writing down what died. We share the list in the hope that somebody''s yard is as bad as ours.

There are years of aphids and years of slugs, and in none of them did we win by fighting. What has helped is company: a pile of stones for the beetles, a dish of water for the birds, dill and fennel left to flower for the hoverflies. Slugs we collect by lamplight, with a radio on. It takes a fortnight of doing nothing before the first ladybird arrives, and it is the longest fortnight of the year.

Begin small: one bed, one compost heap, three things that you like to eat. Leave one corner alone and watch what comes by itself. Next year you will know where the sun stands in May, which is more than any book can tell you, and you will want a second bed. There is no cure for that, and we have stopped looking.
', 'published', 1771918200000, 1771918200000),
('what-not-to-remember', 'What not to remember', 'Absence is an answer, too, and remembering it saves a great deal of work when a broken link is popular.', 'We added our first cache because a page was slow, and our second because the first one was wrong. Since then we have come to see a cache as a small distributed system that happens to live inside one process: there are two copies of something, they can disagree, and somebody has to say which of them wins. What follows is what we would have liked to know on that first afternoon.

Absence is an answer, too, and remembering it saves a great deal of work when a broken link is popular. But strangers can invent as many missing things as they like. A cache without a limit on them is a way for anybody with a loop to fill our memory. Real pages are few and are kept for long; missing ones get a small corner of their own and a short life, and keys of programs that do not exist get nothing at all.

If you take one thing from this, let it be the order of questions. First ask what may be old and for how long. Then ask who knows when it changes. Only then ask where to keep it. Teams that begin with the last question end up with a very fast way of being wrong, and we say so as people who have built it twice.
', 'published', 1776411000000, 1776411000000),
('times-and-zones', 'Times and zones', 'Times are stored as whole milliseconds since 1970, in UTC, in an integer column.', 'There are weeks in which the database is the most boring part of the system, and we work hard to have more of them. Boring means that the schema is written down, that the slow queries are known by name, and that somebody restored a backup recently and did not enjoy it. These notes collect what made ours boring, in no particular order.

Times are stored as whole milliseconds since 1970, in UTC, in an integer column. That is less pretty than text when you look at the file by hand, and it has spared us every discussion about zones, summer time and the number of digits after the point. Months in the archive are months in UTC, too. One reader in Auckland finds her posts a day early, and she has been kind about it.

If your database is exciting, write down what excited you last and make it a test, an index or a line in the manual. Do that for a year. There will be fewer stories to tell, and more evenings to tell other stories in, which we recommend.
', 'published', 1777534200000, 1777534200000),
('the-reader-who-cannot-see-the-page', 'The reader who cannot see the page', 'Headings in order, links that say where they go, a language on the page and on every quotation in another one, enough contrast, a focus that can be seen.', 'A page that is text, a style sheet and nothing else loads before you have finished deciding to wait for it. We keep ours that way out of laziness as much as principle: what is not there does not break. Some things cannot be left out, though, and this post is about doing them with what the browser already knows.

Headings in order, links that say where they go, a language on the page and on every quotation in another one, enough contrast, a focus that can be seen. None of it takes long when it is done at the start. We try each new template once with the screen off, once with the keyboard alone and once at four times the size. The third test has found more mistakes than the other two together.

None of these changes made it into a release note. Together they took a quarter off the traffic, and the letters that begin with "your site used to" have stopped. That is what good plumbing sounds like. The next time a page feels slow, look at what it says about itself before you look at what it does.
', 'published', 1778657400000, 1778657400000),
('failures-that-explain-themselves', 'Failures that explain themselves', 'At three in the morning a failing test is a letter from a colleague, and it should say what was done, what came out and what was wanted, in that order.', 'We have a rule that a test may be deleted by anyone who can say what it no longer tells us. Since then the suite is smaller, faster and trusted, and there is a short list on the wall of the kinds of test that nobody has ever wanted to delete. This post goes through the list, with an example for each.

At three in the morning a failing test is a letter from a colleague, and it should say what was done, what came out and what was wanted, in that order. We have a small collection of bad letters: "not equal", "timeout", and the much loved "should not happen". When a failure cannot be understood without opening the file, fixing the message is part of fixing the bug.

All of this takes time, and we are asked now and then where it comes from. It comes from the evenings that we no longer spend looking for something that a sentence could have told us. Begin with the last bug: write down the sentence that would have caught it, and make the machine read it every day.
', 'published', 1779780600000, 1779780600000),
('tables-and-pictures', 'Tables and pictures', 'A table is for looking up, a picture is for understanding, and a paragraph is for being convinced.', 'Documentation is the part of a program that runs in the reader. It has bugs, it can be tested, and it falls behind when nobody looks after it. We began to treat it that way after a week in which three people lost a day each to one wrong sentence. Since then a change that makes a sentence wrong is not finished until the sentence is right.

A table is for looking up, a picture is for understanding, and a paragraph is for being convinced. Trouble starts when one does the work of another: the paragraph with nine numbers in it, the table with whole sentences in its cells, the diagram with everything. Ask what the reader is going to do with it.

| the reader wants to | give them |
|---|---|
| compare | a table |
| see how it fits together | a picture |
| decide | a paragraph |

Rules like these are easy to collect and easy to follow badly. When one of them makes a sentence worse, break it and move on; that is a rule as well. What counts is that somebody read the page before the reader did, with the reader in mind, and was allowed to change it.
', 'published', 1780903800000, 1780903800000),
('when-to-cut-it', 'When to cut it', 'The hardest step of all is to leave the bread alone for an hour.', 'There are two kinds of recipe: those that tell you what to do, and those that tell you what to look for. Ovens, flours and kitchens differ so much that the first kind works mostly for the person who wrote it. We have been trying to turn our favourite recipes into the second kind, and have learned on the way what we had been looking at all along.

The hardest step of all is to leave the bread alone for an hour. It is still baking on the inside, and the steam that escapes when you cut it early is the softness that you will miss tomorrow. Listen to it instead: a good crust crackles as it cools. Rye wants to wait until the next day, and rewards those who do with a flavour that was not there in the evening.

Bake the same loaf ten times before you try another. The first three will be different for reasons that you do not understand, the next three for reasons that you do, and the last four will be bread. After that every recipe is a variation, and you can read most of them with one eye while you are doing something else.
', 'published', 1782027000000, 1782027000000),
('what-goes-in-the-bag', 'What goes in the bag', 'Water, more than seems necessary.', 'Walking is the slowest way of getting anywhere that still gets you there, and the only one at which a landscape makes sense. At this speed you notice that the river is on the wrong side, that the village has two churches, that the wind has changed. What follows is a field guide for people who sit a great deal and would like to do less of it.

Water, more than seems necessary. Something warm, even in July. A whistle, a bandage, a knife, a lamp with a battery that was charged this week. Food that can be eaten with gloves on. The rest is comfort: a flask of tea weighs half a kilo and is worth it every time. We have weighed our bags at the station for a year now, and the heaviest has always belonged to somebody who was going to take photographs.

You do not need a mountain for any of this. An hour before breakfast on the same path, every day for a month, will show you more change than a week of famous views. Take the same photograph each time, from the same gate. At the end of the year you will have a small book about light, and your knees will thank you.
', 'published', 1783150200000, 1783150200000),
('pruning-the-pear', 'Pruning the pear', 'A tree answers every cut, and the answer comes the year after.', 'Gardening books are written for the garden of the author. Ours is in shade until eleven, on soil that a digger left behind, in a town where the last frost comes when it pleases. What works here was found by asking the neighbours and by writing down what died. We share the list in the hope that somebody''s yard is as bad as ours.

A tree answers every cut, and the answer comes the year after. Cut in winter and it grows harder; cut in summer and it slows down. We take out what is dead, what crosses and what grows inwards, and then we put the saw away, because the fourth reason is always that one has got into the swing of it. Step back after each branch. A pear tree has more time than you have.

Begin small: one bed, one compost heap, three things that you like to eat. Leave one corner alone and watch what comes by itself. Next year you will know where the sun stands in May, which is more than any book can tell you, and you will want a second bed. There is no cure for that, and we have stopped looking.
', 'published', 1784273400000, 1784273400000),
('numbers-worth-watching', 'Numbers worth watching', 'We once had eleven charts for the cache and looked at none of them.', 'We added our first cache because a page was slow, and our second because the first one was wrong. Since then we have come to see a cache as a small distributed system that happens to live inside one process: there are two copies of something, they can disagree, and somebody has to say which of them wins. What follows is what we would have liked to know on that first afternoon.

We once had eleven charts for the cache and looked at none of them. Four have survived. The share of reads that had to wait for the database; the time that those took; the number of entries that were pushed out for lack of room; and the time between a write and the first read that shows it. The last one is the only one that authors feel, and we measure it by writing to a page that nobody reads and fetching it again.

If you take one thing from this, let it be the order of questions. First ask what may be old and for how long. Then ask who knows when it changes. Only then ask where to keep it. Teams that begin with the last question end up with a very fast way of being wrong, and we say so as people who have built it twice.
', 'published', 1785396600000, 1785396600000),
('reading-your-own-writes', 'Reading your own writes', 'With a copy of the database on another machine comes a question that is easy to overlook: when the author saves a post and is sent back to it, which copy answers? If it is the one that is half a second behind, the post looks unchanged, and the author saves again.', 'There are weeks in which the database is the most boring part of the system, and we work hard to have more of them. Boring means that the schema is written down, that the slow queries are known by name, and that somebody restored a backup recently and did not enjoy it. These notes collect what made ours boring, in no particular order.

With a copy of the database on another machine comes a question that is easy to overlook: when the author saves a post and is sent back to it, which copy answers? If it is the one that is half a second behind, the post looks unchanged, and the author saves again. Either the reads that follow a write go to the same place as the write, or the page says that it may be behind. Hoping is not on the list.

If your database is exciting, write down what excited you last and make it a test, an index or a line in the manual. Do that for a year. There will be fewer stories to tell, and more evenings to tell other stories in, which we recommend.
', 'published', 1786519800000, 1786519800000),
('robots-good-and-bad', 'Robots, good and bad', 'Half of our visitors are programs.', 'A page that is text, a style sheet and nothing else loads before you have finished deciding to wait for it. We keep ours that way out of laziness as much as principle: what is not there does not break. Some things cannot be left out, though, and this post is about doing them with what the browser already knows.

Half of our visitors are programs. The good ones read the file that says where they may go and the map that says what is new, and come back at a decent pace. For the others there is no file. What has helped is to make every page cheap: a crawler that asks for the same list with a thousand invented parameters should get a thousand short refusals, and not a thousand queries.

None of these changes made it into a release note. Together they took a quarter off the traffic, and the letters that begin with "your site used to" have stopped. That is what good plumbing sounds like. The next time a page feels slow, look at what it says about itself before you look at what it does.
', 'published', 1787643000000, 1787643000000),
('what-coverage-cannot-see', 'What coverage cannot see', 'A line that ran is not a line that was checked.', 'We have a rule that a test may be deleted by anyone who can say what it no longer tells us. Since then the suite is smaller, faster and trusted, and there is a short list on the wall of the kinds of test that nobody has ever wanted to delete. This post goes through the list, with an example for each.

A line that ran is not a line that was checked. We learned this from a mutation run, which breaks the program on purpose in a thousand small ways and asks the tests to notice. A quarter of the breaks went by unnoticed, most of them in functions with full coverage. They were missing not lines but questions: what if it is empty, what if it is twice, what if the second call comes first.

All of this takes time, and we are asked now and then where it comes from. It comes from the evenings that we no longer spend looking for something that a sentence could have told us. Begin with the last bug: write down the sentence that would have caught it, and make the machine read it every day.
', 'published', 1788766200000, 1788766200000),
('writing-for-translation', 'Writing for translation', 'Half of our readers have English as their second language, and part of the site is in Chinese.', 'Documentation is the part of a program that runs in the reader. It has bugs, it can be tested, and it falls behind when nobody looks after it. We began to treat it that way after a week in which three people lost a day each to one wrong sentence. Since then a change that makes a sentence wrong is not finished until the sentence is right.

Half of our readers have English as their second language, and part of the site is in Chinese. Both are helped by the same things: short sentences with a subject and a verb, no jokes that depend on a word having two meanings, no idioms from sports that are played in one country. It is not dull. It is what is left when the decoration is gone, and it turns out to be the part that people came for.

Rules like these are easy to collect and easy to follow badly. When one of them makes a sentence worse, break it and move on; that is a rule as well. What counts is that somebody read the page before the reader did, with the reader in mind, and was allowed to change it.
', 'published', 1789889400000, 1789889400000),
('mistakes-and-their-names', 'Mistakes and their names', 'Every failed loaf looks like another.', 'There are two kinds of recipe: those that tell you what to do, and those that tell you what to look for. Ovens, flours and kitchens differ so much that the first kind works mostly for the person who wrote it. We have been trying to turn our favourite recipes into the second kind, and have learned on the way what we had been looking at all along.

Every failed loaf looks like another. A flat one with large holes near the top rose for too long; a tight one with a torn side, not long enough. A pale crust had too little heat, a grey taste too little salt. We keep photographs of the bad ones with a line each on what had gone wrong, and it is the page that guests ask for. Nobody has ever asked for the photographs of the good ones.

Bake the same loaf ten times before you try another. The first three will be different for reasons that you do not understand, the next three for reasons that you do, and the last four will be bread. After that every recipe is a variation, and you can read most of them with one eye while you are doing something else.
', 'published', 1791012600000, 1791012600000),
('walking-in-town', 'Walking in town', 'A town can be walked as well, if you leave the streets that you know.', 'Walking is the slowest way of getting anywhere that still gets you there, and the only one at which a landscape makes sense. At this speed you notice that the river is on the wrong side, that the village has two churches, that the wind has changed. What follows is a field guide for people who sit a great deal and would like to do less of it.

A town can be walked as well, if you leave the streets that you know. Follow a river from one side to the other, or the line where the old wall stood; take every second turning to the left; walk from the last stop of a tram to the first. You will cross yards, allotments and the backs of things. Two hours are enough for a whole small journey, and there is always a bakery.

You do not need a mountain for any of this. An hour before breakfast on the same path, every day for a month, will show you more change than a week of famous views. Take the same photograph each time, from the same gate. At the end of the year you will have a small book about light, and your knees will thank you.
', 'published', 1792135800000, 1792135800000),
('a-calendar-of-our-own', 'A calendar of our own', 'The best tool in the shed is a notebook.', 'Gardening books are written for the garden of the author. Ours is in shade until eleven, on soil that a digger left behind, in a town where the last frost comes when it pleases. What works here was found by asking the neighbours and by writing down what died. We share the list in the hope that somebody''s yard is as bad as ours.

The best tool in the shed is a notebook. First snowdrop, last frost, the day on which the swifts came and on which they went, what was sown where and what became of it: a line on each day when something happened. After three years there was a calendar in it that fits this yard and no other. It says the ninth of May where the book says the first of April.

Begin small: one bed, one compost heap, three things that you like to eat. Leave one corner alone and watch what comes by itself. Next year you will know where the sun stands in May, which is more than any book can tell you, and you will want a second bed. There is no cure for that, and we have stopped looking.
', 'published', 1793259000000, 1793259000000);
INSERT INTO post_tags (post_id, tag_id) SELECT p.id, t.id FROM posts p, tags t, (VALUES
('the-cost-of-a-miss', 'caching'),
('one-writer-at-a-time', 'databases'),
('headers-that-say-what-they-mean', 'http'),
('tables-and-their-rows', 'testing'),
('the-first-sentence', 'writing'),
('the-starter', 'baking'),
('paper-maps', 'walking'),
('soil-comes-first', 'gardening'),
('keys-that-mean-one-thing', 'caching performance'),
('indexes-that-earn-their-keep', 'databases sqlite'),
('validators-and-short-answers', 'http web'),
('time-under-control', 'testing go'),
('examples-before-rules', 'writing documentation'),
('weighing-everything', 'baking kitchen'),
('reading-the-sky', 'walking maps'),
('compost', 'gardening soil'),
('many-readers-one-load', 'caching performance reliability'),
('migrations-without-fear', 'databases sqlite operations'),
('feeds-are-not-dead', 'http web standards'),
('an-oracle-next-door', 'testing go tooling'),
('words-that-wander', 'writing documentation editing'),
('slow-dough', 'baking kitchen fermentation'),
('feet-first', 'walking maps weather'),
('water-in-the-evening', 'gardening soil seasons'),
('stale-is-a-decision', 'caching'),
('backups-are-restores', 'databases'),
('addresses-that-stay', 'http'),
('the-race-detector', 'testing'),
('cutting', 'writing'),
('shaping', 'baking'),
('the-pace-of-the-slowest', 'walking'),
('seeds-and-patience', 'gardening'),
('invalidation-from-the-write', 'caching performance'),
('the-shape-of-a-query', 'databases sqlite'),
('forms-without-scripts', 'http web'),
('golden-files', 'testing go'),
('the-reader-over-your-shoulder', 'writing documentation'),
('heat-and-steam', 'baking kitchen'),
('getting-lost-properly', 'walking maps'),
('pests-and-guests', 'gardening soil'),
('what-not-to-remember', 'caching performance reliability'),
('times-and-zones', 'databases sqlite operations'),
('the-reader-who-cannot-see-the-page', 'http web standards'),
('failures-that-explain-themselves', 'testing go tooling'),
('tables-and-pictures', 'writing documentation editing'),
('when-to-cut-it', 'baking kitchen fermentation'),
('what-goes-in-the-bag', 'walking maps weather'),
('pruning-the-pear', 'gardening soil seasons'),
('numbers-worth-watching', 'caching'),
('reading-your-own-writes', 'databases'),
('robots-good-and-bad', 'http'),
('what-coverage-cannot-see', 'testing'),
('writing-for-translation', 'writing'),
('mistakes-and-their-names', 'baking'),
('walking-in-town', 'walking'),
('a-calendar-of-our-own', 'gardening')) x
WHERE p.slug = x.column1 AND ' ' || x.column2 || ' ' LIKE '% ' || t.slug || ' %';
INSERT INTO pages (slug, title, body, updated_at) VALUES
('about', 'About', 'We are a few people who work in one room above a yard, on programs that
keep other people''s data, and who write down what we would otherwise forget.

## What you find here

Posts about caches, databases, the web and tests, because that is what we do
all day; and posts about bread, walking and a very small garden, because that is
what we talk about meanwhile.

## How often

About twice a week. The [RSS](/rss.xml) feed carries the full
text, and there is an API for those who would rather read by program.
', 1714635000000);
INSERT INTO nav_items (position, label, url) VALUES
(0, 'Home', '/'),
(1, 'About', '/pages/about');
