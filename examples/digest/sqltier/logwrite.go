package sqltier

import (
	"crypto/rand"
	"fmt"
	"math"
	"time"

	"github.com/twofold-go/twofold/invalidate"
)

// trimEvery is how many records are appended before old ones are looked for.
const trimEvery = 256

// append starts an epoch if it has to, appends what is given, and returns what lies
// behind the caller. Its transaction writes.
func (r *reading) append(payloads [3][]byte) (p invalidate.Page, err error) {
	m, err := r.meta()
	if err != nil {
		return p, err
	}
	m.bound = max(m.bound, r.log.cfg.Bound)
	now := r.log.cfg.Now().UnixMicro()
	if r.doubtful(&m) {
		if err := r.bump(&m, now); err != nil {
			return p, err
		}
	}
	var placed [3]invalidate.Position
	for _, seq := range []int{keySeq, scopeSeq} {
		if len(payloads[seq]) == 0 {
			continue
		}
		m.n[seq]++
		placed[seq] = m.end(seq)
		if err := r.insert(&m, seq, 0, newMark(), now, payloads[seq]); err != nil {
			return p, err
		}
		if err := r.trim(seq, m.n[seq]); err != nil {
			return p, err
		}
	}
	_, err = r.tx.ExecContext(r.ctx, `INSERT INTO invalidation_meta (id, epoch, mark, key_n, scope_n, bound) VALUES (1, ?, ?, ?, ?, ?)
		ON CONFLICT (id) DO UPDATE SET
			epoch = excluded.epoch, mark = excluded.mark, key_n = excluded.key_n, scope_n = excluded.scope_n, bound = excluded.bound`,
		m.epoch, m.mark, m.n[keySeq], m.n[scopeSeq], (m.bound + time.Microsecond - 1).Microseconds())
	if err != nil {
		return p, err
	}
	p, err = r.page(&m)
	p.Key, p.Scope = placed[keySeq], placed[scopeSeq]
	return p, err
}

// bump starts an epoch behind every position that anybody may know.
func (r *reading) bump(m *meta, now int64) error {
	var top int64 // of records that the notes know nothing of
	if err := r.tx.QueryRowContext(r.ctx, `SELECT coalesce(max(epoch), 0) FROM invalidation_log`).Scan(&top); err != nil {
		return err
	}
	epoch := max(top+1, int64(m.epoch)+1, int64(r.at[keySeq].Epoch())+1, int64(r.at[scopeSeq].Epoch())+1)
	if epoch > math.MaxUint32 {
		return fmt.Errorf("%w behind epochs %d and %d", ErrEpochs, r.at[keySeq].Epoch(), r.at[scopeSeq].Epoch())
	}
	next := meta{epoch: uint32(epoch), mark: newMark(), bound: m.bound, endMark: m.endMark}
	for _, seq := range []int{keySeq, scopeSeq} {
		if err := r.insert(&next, seq, m.end(seq), next.mark, now, []byte{}); err != nil {
			return err
		}
	}
	*m = next
	return nil
}

// insert writes the record where the sequence ends now.
func (r *reading) insert(m *meta, seq int, prev invalidate.Position, mark []byte, now int64, payload []byte) error {
	at, before := m.end(seq), m.endMark[seq]
	if before == nil {
		before = []byte{}
	}
	m.endMark[seq] = mark
	_, err := r.tx.ExecContext(r.ctx, `INSERT INTO invalidation_log (seq, epoch, n, prev_epoch, prev_n, at, mark, prev_mark, payload)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, seq, at.Epoch(), at.N(), prev.Epoch(), prev.N(), now, mark, before, payload)
	return err
}

// newMark returns a random id, which is never zero.
func newMark() []byte {
	mark := make([]byte, 8)
	_, _ = rand.Read(mark) // documented never to fail
	mark[0] |= 1
	return mark
}

// trim removes the records behind the newest Retain, now and then. A reader that had
// not seen them finds a gap in the numbers.
func (r *reading) trim(seq int, n uint32) error {
	if n%trimEvery != 0 {
		return nil
	}
	_, err := r.tx.ExecContext(r.ctx, `DELETE FROM invalidation_log WHERE seq = ?1 AND (epoch, n) <= (
		SELECT epoch, n FROM invalidation_log WHERE seq = ?1 ORDER BY epoch DESC, n DESC LIMIT 1 OFFSET ?2)`,
		seq, r.log.cfg.Retain)
	return err
}
