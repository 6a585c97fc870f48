// Package digest generates each digest once: for each combination of sources and each
// closed period, however many users, requests and processes ask for it.
//
// A request goes like this:
//
//  1. The period is the last one that is closed: its end, and some grace for what was
//     being fetched then, are over. What came in since belongs to the next.
//  2. The user's sources, and what they hash to with the options of the text, are known
//     in memory until they change.
//  3. A user without sources costs nothing, and leaves nothing.
//  4. The digest of that hash and period comes from memory, or else from the row of
//     digest_cache, or else one process claims the row, asks the summariser and fills it,
//     while all others wait for it. A period in which nothing came is remembered, and the
//     summariser not asked.
//  5. The content of the row becomes the user's row in digests, byte for byte.
//
// A digest that could not be made is not remembered; the last one of the same
// combination is served in its place, and says so.
//
// All of that rests on the library: [cache.Cache] in front, a [sqltier.Tier] over the table
// of digests, and a [sqltier.Log] in the same file, by which processes hear of each other's
// deletions and of users whose sources changed.
package digest
