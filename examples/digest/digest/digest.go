package digest

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/twofold-go/twofold/examples/digest/store"
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
