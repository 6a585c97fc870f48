// Package follow keeps one process in step with a log of invalidations. A [Follower] applies the
// log's records to the fences of package fence, and appends the invalidations of the process. A
// [Lease] says until when the process may trust its fences. Package invalidate explains why this is
// enough.
//
// # Order
//
// Each of these rules has a counterexample when it is broken. The stories in cache/testdata/log play
// them, and the world of package fence breaks the rules one by one.
//
//   - Marks are captured before the fetch or the load they describe.
//   - Fences are stored before the applied position moves. The position moves before
//     the lease is extended. Readers take the lease first and the fences second.
//   - Cells are removed before the record is written.
//   - An entry is checked when it is read, too, not only when it is stored.
//   - Only an answer to a Sync extends the lease, as of the moment of the question.
//     The tail delivers records quickly but proves nothing: its server may have
//     been deposed.
//   - It does not extend the lease while the answer ends below a frame that was
//     accepted before the question. Then the log has lost records.
package follow
