// Package fence applies invalidations in one process. It starts no goroutine and asks no log: package
// follow does. [Fences] is the whole; a [Mark] is what the process knew when it fetched or loaded something;
// [Deps] is what a value depends on.
//
// # The idea
//
// A resident knows what can end it, so nothing is compared with a list of past invalidations.
//
//   - The invalidation of a key removes the resident of that key. A record carries the key's text, which the
//     cache turns into its own key, and so into an address of the local tier ([Owner]). Keys that are hashed
//     cannot be turned back; each of their entries has a node for its own key.
//   - Everything else that can end an entry is a [Node]: a tag, the key of a part, a prefix. Entries that
//     depend on the same thing share the node and count as its references. An invalidation looks the node up
//     by hash and, if there is one, writes its tick there. The local tier's hook gives the references back.
//   - What ends all entries of a tenant in a namespace is written into the [Namespace].
//   - A prefix that ends inside an id (users.Prefix("ab")) is a cut: the namespace keeps the last 4,096
//     different ones at least, and an entry compares its text with those that it has not seen.
//   - What is in flight is not in the local tier and has no nodes. A load is compared by its tick with a
//     history of the last invalidations, and a cell that another process stored by its position.
//     What is older than the history counts as invalidated.
//
// A hit costs a few loads of memory and no lock: the namespace's two ticks, and one or two for each node.
// Invalidations of other keys, tags and prefixes do not touch it.
//
// # Three orders
//
//   - Who invalidates: first what it says is announced (a tick newer than every mark) or the entry of the
//     key ended; then it takes its tick; then it writes the tick and the note in the history. All of that is
//     under the lock of the scope's shard. Otherwise a load whose mark counts the invalidation could find a
//     part that it covers.
//   - Who stores: first the mark, then the load, then the history and the nodes, each under the lock of the
//     scope's shard ([Fences.Hold]), and last the store under the lock of the key's shard ([Fences.Enter]).
//     So an invalidation finds the node or the entry, or the history has it.
//   - Who follows a log moves the applied position after the invalidations up to it are applied.
//
// Locks: Fences.mu, then a shard's (one at a time), then the local tier's, then a list of idle nodes.
//
// # Interleavings
//
// A node is made while its scope is invalidated: the shard's lock makes the two one after the other. If the
// invalidation is first, the history has it. If the node is first, it hears it.
//
// A reader holds an entry that has left the tier, whose nodes hear nothing more. What it reads overlaps the
// invalidation. What it builds has an older mark, and Hold finds the invalidation in the history by hash. An
// entry that has left is compared with the history, too.
//
// Positions do not rise: a process applies its own write, 100, before its tail brings 90. So whatever
// replaces or forgets a position keeps the highest one.
//
// A namespace opens while a record is applied: it starts from the history of every prefix of its name. The
// record of a key looks its namespace up before it takes the lock, and again if one was opened meanwhile.
//
// # What was tried before
//
// Until now every resident was compared with what was remembered: generations, groups, a clock of 65,536
// buckets, exact tables. Because memory is finite, a walk had to look at all residents before something was
// forgotten, and writers waited for it. That took three times the code, and prefixes of the same namespace at
// 1,000 a second made a hit of other keys 6 to 18 times as slow.
//
// Weak pointers to nodes instead of counts cost 126 bytes for a tag that one entry has, and 0.9 s of cleanups for
// a million; an index of slots saves 9 bytes, but the index of a node that was dropped names another scope.
package fence
