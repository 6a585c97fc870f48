package sqltier

import (
	"context"
	"database/sql"
	"strconv"
)

// pack holds the arguments of a statement for many keys. One []byte has all keys, nonces and
// cells. Lists in PostgreSQL's array format say where each begins, counted from 1. Any driver can
// send these arguments, and the text of the statement is always the same.
type pack struct {
	blob             []byte
	at, size         list // of the keys
	cellAt, cellSize list // of the cells; each nonce is before its cell
	ttl              list // of the cells, in ms
}

// addKey adds a key without a cell.
func (p *pack) addKey(key string) {
	p.at.add(int64(len(p.blob) + 1))
	p.size.add(int64(len(key)))
	p.blob = append(p.blob, key...)
}

// add adds a key and a cell for it.
func (p *pack) add(key string, n [8]byte, cell []byte, ttl int64) {
	p.addKey(key)
	p.blob = append(p.blob, n[:]...)
	p.cellAt.add(int64(len(p.blob) + 1))
	p.cellSize.add(int64(len(cell)))
	p.ttl.add(ttl)
	p.blob = append(p.blob, cell...)
}

// keys returns the arguments for {keys}.
func (p *pack) keys() []any { return []any{p.blob, p.at.text(), p.size.text()} }

// cells returns the arguments for {cells}.
func (p *pack) cells() []any {
	return append(p.keys(), p.cellAt.text(), p.cellSize.text(), p.ttl.text())
}

// list is an array of integers in PostgreSQL's format, without its last brace.
type list []byte

func (l *list) add(n int64) {
	sep := byte(',')
	if len(*l) == 0 {
		sep = '{'
	}
	*l = strconv.AppendInt(append(*l, sep), n, 10)
}

func (l list) text() string { return string(l) + "}" }

// send runs a statement for many cells and returns the keys whose rows it changed.
func (t *Tier) send(ctx context.Context, which int, p *pack) (map[string]bool, error) {
	rows, err := t.query(ctx, nil, which, p.cells()...)
	if err != nil {
		return nil, err
	}
	defer rows.Close() //nolint:errcheck // rows.Err says what went wrong
	changed := map[string]bool{}
	for rows.Next() {
		var key []byte
		if err := rows.Scan(&key); err != nil {
			return nil, err
		}
		changed[string(key)] = true
	}
	return changed, rows.Err()
}

// remove removes the rows of keys.
func (t *Tier) remove(ctx context.Context, keys []string) error {
	switch {
	case len(keys) == 1:
		_, err := t.exec(ctx, nil, unlink, []byte(keys[0]))
		return err
	case t.cfg.Dialect == Postgres:
		_, err := t.exec(ctx, nil, unlinkMany, keyArgs(keys)...)
		return err
	}
	return t.inTx(ctx, func(tx *sql.Tx) error {
		for _, key := range keys {
			if _, err := t.exec(ctx, tx, unlink, []byte(key)); err != nil {
				return err
			}
		}
		return nil
	})
}

// inTx runs do in a transaction of SQLite. The transaction takes the write lock before do reads.
// Otherwise its snapshot could be too old to write.
func (t *Tier) inTx(ctx context.Context, do func(tx *sql.Tx) error) error {
	if _, err := t.statement(ctx, nil, unlink); err != nil { // prepare before the transaction takes the connection
		return err
	}
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer tx.Rollback()                                     //nolint:errcheck // after Commit there is nothing to roll back
	if _, err := t.exec(ctx, tx, unlink, nil); err != nil { // no key is NULL
		return err
	}
	if err := do(tx); err != nil {
		return err
	}
	return tx.Commit()
}
