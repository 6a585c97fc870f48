package digest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gowebpki/jcs"

	"github.com/twofold-go/twofold/examples/digest/store"
	"github.com/twofold-go/twofold/examples/digest/summary"
)

// ErrOptions is wrapped by errors about options that make no sense.
var ErrOptions = errors.New("digest: bad options")

// Options are all that the text of a digest depends on besides its items. Whatever does
// not stand here must not change the text, or one user would be served what was written
// for another. The zero Options are those of a program that is told nothing.
type Options struct {
	Language string `json:"language,omitempty"`       // summary.Chinese; empty: English
	Style    string `json:"style,omitempty"`          // summary.Brief or summary.Full
	MaxItems int    `json:"max_items,omitempty"`      // 0: DefaultMaxItems
	Model    string `json:"model,omitempty"`          // of the summariser's variant
	Prompt   string `json:"prompt_version,omitempty"` // likewise
}

// Hash returns what a set of sources hashes to, with options: SHA-256 of the ids by
// number, a bar, and the options in canonical JSON (RFC 8785). Without options it is the
// hash of the ids alone, [store.Hash], so that the documented hashes stay what they are.
func Hash(ids []int64, o Options) (string, error) {
	if o == (Options{}) {
		return store.Hash(ids), nil
	}
	data, err := o.canonical()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(slices.Concat(store.JoinIDs(ids), []byte{'|'}, data))
	return hex.EncodeToString(sum[:]), nil
}

func (o Options) canonical() ([]byte, error) {
	data, err := json.Marshal(o)
	if err != nil {
		return nil, err
	}
	return jcs.Transform(data)
}

// ParseOptions reads the options of a user: a language and a style, and nothing else.
// Nothing is none.
func ParseOptions(data []byte) (o Options, err error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return o, nil
	}
	var user struct {
		Language string `json:"language"`
		Style    string `json:"style"`
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&user); err != nil {
		return o, fmt.Errorf("%w: %d bytes that are not an object of language and style", ErrOptions, len(data))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return o, fmt.Errorf("%w: more than one object", ErrOptions)
	}
	o = Options{Language: user.Language, Style: user.Style}
	_, err = o.normal()
	return o, err
}

// normal spells what is the default by leaving it out, or the same text would have two
// hashes, and refuses what is unknown.
func (o Options) normal() (Options, error) {
	switch o.Language {
	case summary.English:
		o.Language = ""
	case "", summary.Chinese:
	default:
		return o, fmt.Errorf("%w: language of %d bytes, must be %q or %q", ErrOptions, len(o.Language), summary.English, summary.Chinese)
	}
	switch o.Style {
	case summary.Normal, summary.Brief, summary.Full:
	default:
		return o, fmt.Errorf("%w: style of %d bytes, must be empty, %q or %q", ErrOptions, len(o.Style), summary.Brief, summary.Full)
	}
	if o.MaxItems < 0 {
		return o, fmt.Errorf("%w: %d items at most", ErrOptions, o.MaxItems)
	}
	if o.MaxItems == DefaultMaxItems {
		o.MaxItems = 0
	}
	return o, nil
}

// with returns o with what a user wants instead.
func (o Options) with(user Options) Options {
	if user.Language != "" {
		o.Language = user.Language
	}
	if user.Style != "" {
		o.Style = user.Style
	}
	return o
}
