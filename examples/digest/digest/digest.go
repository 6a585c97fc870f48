package digest

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/examples/digest/sqltier"
	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/key"
	"github.com/twofold-go/twofold/tier"
)

// Digest is what is cached of a combination and a period: the text, and what it was made
// of. It is shared by all who ask for it, and must not be changed.
type Digest struct {
	Hash        string    `json:"hash"`         // of sources and options
	SourcesHash string    `json:"sources_hash"` // of sources alone
	Kind        Kind      `json:"kind"`
	Start       time.Time `json:"start"`
	End         time.Time `json:"end"`
	Empty       bool      `json:"empty,omitempty"` // nothing came in that period
	Content     string    `json:"content"`         // Markdown
	SourceIDs   []int64   `json:"source_ids"`
	Items       int       `json:"items"`
	Model       string    `json:"model"`
	Tokens      int64     `json:"tokens"`
	Dropped     int       `json:"links_dropped,omitempty"`
	Repaired    int       `json:"links_repaired,omitempty"`
	Options     Options   `json:"options"`
	CreatedAt   time.Time `json:"created_at"`
	ExpiresAt   time.Time `json:"expires_at"`
}

// metadata is what stands beside a text in columns of that name.
type metadata struct {
	Start    int64   `json:"period_start"` // unix ms
	End      int64   `json:"period_end"`
	Hash     string  `json:"subscription_hash"`
	Model    string  `json:"llm_model"`
	Sources  []int64 `json:"source_ids"`
	Items    int     `json:"raw_item_count"`
	Dropped  int     `json:"links_dropped"`
	Repaired int     `json:"links_repaired"`
	Options  Options `json:"options"`
}

func (d *Digest) metadata() (json.RawMessage, error) {
	return json.Marshal(metadata{
		Start: d.Start.UnixMilli(), End: d.End.UnixMilli(), Hash: d.Hash, Model: d.Model, Sources: d.SourceIDs, Items: d.Items,
		Dropped: d.Dropped, Repaired: d.Repaired, Options: d.Options,
	})
}

// fromRow returns the digest that a row of digest_cache reads as.
func fromRow(r store.CacheRow) (d Digest, err error) {
	var m metadata
	if err := json.Unmarshal(r.Metadata, &m); err != nil {
		return d, fmt.Errorf("digest: metadata of a row: %w", err)
	}
	return Digest{
		Hash: r.Hash, SourcesHash: store.Hash(r.SourceIDs), Kind: Kind(r.Type), Start: r.PeriodStart, End: r.PeriodEnd,
		Empty: r.State == store.StateEmpty, Content: r.Content, SourceIDs: r.SourceIDs, Items: r.RawItemCount,
		Model: r.Model, Tokens: r.Tokens, Dropped: m.Dropped, Repaired: m.Repaired, Options: m.Options,
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
	}, nil
}

// columns are those of digest_cache that people read. The statement that writes a cell
// writes them from what is in it, so that the two cannot differ.
var columns = []string{
	"subscription_hash", "digest_type", "period_start", "period_end", "state", "sources_hash", "content", "metadata",
	"source_ids", "raw_item_count", "llm_model", "llm_tokens", "created_at", "expires_at",
}

// table is where the digests of a space of keys are.
func table(space key.Space) sqltier.Table {
	return sqltier.Table{
		Name: "digest_cache", Prefix: space.Prefix(), Columns: columns, Row: row,
		// A digest stays for its time, whatever becomes of its cell: when the log has to
		// start anew no cell is trusted any more, and that must not cost a call each.
		Keep: "state IN ('ready', 'empty')",
	}
}

// codecs are those that the cell of a digest may have been written by.
var codecs, _ = codec.NewSet(codec.Builtin()...)

// row implements [sqltier.Table.Row].
func row(full string, c tier.Cell) (values []any, until time.Time, err error) {
	k, err := fromFull(full)
	if err != nil {
		return nil, until, err
	}
	hash, w, err := k.parse()
	if err != nil {
		return nil, until, err
	}
	values = []any{hash, string(w.Kind), w.Start.UnixMilli(), w.End.UnixMilli()}
	switch {
	case c.Kind != tier.Value:
		return append(values, store.StateClaimed, "", nil, "{}", "[]", 0, nil, nil, 0, nil), until, nil
	case c.Flags&tier.Negative != 0: // a failure that is remembered for a moment
		return append(values, store.StateFailed, "", nil, "{}", "[]", 0, nil, nil, 0, nil), until, nil
	}
	var d Digest
	if cd, ok := codecs.Lookup(c.Codec); !ok || cd.Unmarshal(c.Payload, &d) != nil {
		return nil, until, errors.New("digest: a cell that is no digest")
	}
	more, err := d.columns()
	// The library keeps nothing longer than a month in a remote tier; this one has
	// been told for how long.
	return append(values, more...), time.UnixMilli(c.HardAt), err
}

// columns returns the values of the columns that are not the key's.
func (d *Digest) columns() ([]any, error) {
	meta, err := d.metadata()
	if err != nil {
		return nil, err
	}
	ids, err := json.Marshal(d.SourceIDs)
	if err != nil {
		return nil, err
	}
	state := store.StateReady
	if d.Empty {
		state = store.StateEmpty
	}
	return []any{
		state, d.SourcesHash, d.Content, string(meta), string(ids), d.Items, d.Model, d.Tokens,
		d.CreatedAt.UnixMilli(), d.ExpiresAt.UnixMilli(),
	}, nil
}
