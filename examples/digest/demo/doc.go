// Package demo lets the whole program live through a day in seconds, with nothing but
// loopback, and says whether it kept what the source documents promise.
//
// A newsroom of made-up publications is served on loopback, and a population by the
// document's model subscribes to it. A clock of the demonstration's own goes from one
// quarter of an hour to the next. At each the collector fetches what is due, some of it
// from publications that fail for an hour; and whenever a period closes, its digest is
// generated for all users. On the way the program is restarted, a source is deleted,
// somebody subscribes to another one, and an operator deletes a combination from the
// cache.
//
// What is promised is checked against the database, and not against what the program says
// of itself; that is checked, too.
package demo
