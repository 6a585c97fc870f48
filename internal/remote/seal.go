package remote

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"sync"

	"github.com/twofold-go/twofold/tier"
)

// MinSecret is the least length of a secret in bytes.
const MinSecret = 16

// ErrUnauthentic means that a value's frame has no tag of a secret of this process.
var ErrUnauthentic = errors.New("cache: cell is not authentic")

// Seal authenticates the frames of values with a secret. A sealed frame is a frame and a tag of 16
// bytes behind it. The tag covers the key and every byte of the frame but the nonce and RefreshUntil,
// which the remote tier's server rewrites. A nil Seal leaves frames as they are, and accepts no
// sealed frame. All methods may be called concurrently.
type Seal struct {
	signs    *sealKey
	previous *sealKey // accepted, too; nil if there is none
}

// NewSeal returns the seal of a secret, which also accepts the frames of a previous one. Without a
// secret it is nil. It does not keep the slices.
func NewSeal(secret, previous []byte) (s *Seal, err error) {
	switch {
	case secret == nil && previous == nil:
		return nil, nil //nolint:nilnil // a nil Seal works
	case secret == nil:
		return nil, errors.New("it is nil, and PreviousSecret is set: set both, or neither")
	}
	s = new(Seal)
	if s.signs, err = newSealKey(secret); err != nil || previous == nil {
		return s, err
	}
	if s.previous, err = newSealKey(previous); err != nil {
		return nil, fmt.Errorf("PreviousSecret: %w", err)
	}
	return s, nil
}

const tagSize = 16

// Close returns the frame of a value with its tag.
func (s *Seal) Close(frame []byte, key string) []byte {
	if s == nil {
		return frame
	}
	tag := s.signs.tag(frame, key)
	return append(frame, tag[:]...)
}

// Open returns the frame in a sealed frame, if its tag is right for the key. Frames of other kinds
// than values have no tag.
func (s *Seal) Open(sealed []byte, key string) ([]byte, error) {
	if s == nil || len(sealed) == 0 || tier.Kind(sealed[0]) != tier.KindValue {
		return sealed, nil
	}
	end := len(sealed) - tagSize
	if end < tier.HeaderSize {
		return nil, ErrUnauthentic
	}
	frame, tag := sealed[:end:end], sealed[end:]
	if s.signs.accepts(frame, key, tag) || s.previous != nil && s.previous.accepts(frame, key, tag) {
		return frame, nil
	}
	return nil, ErrUnauthentic
}

// Parse parses a frame after Open.
func (s *Seal) Parse(sealed []byte, key string) (tier.Cell, error) {
	frame, err := s.Open(sealed, key)
	if err != nil {
		return tier.Cell{}, err
	}
	c, err := tier.ParseCell(frame)
	if s == nil && errors.Is(err, tier.ErrChecksum) && len(frame) > tagSize {
		if _, bare := tier.ParseCell(frame[:len(frame)-tagSize]); bare == nil {
			return c, ErrUnauthentic // another process sealed it
		}
	}
	return c, err
}

// sealKey makes tags. A tag is the AES encryption of a hash, under another key than the hash's. The
// hash is the GHASH of AES-GCM, plus a constant: GCM's tag under one fixed nonce. It is fast and needs no copy
// of the frame, because GCM takes two texts.
//
// The nonce is never changed, which would break GCM, whose tags anybody may see. Nobody sees ours: a
// tag is a permutation of it that only the secret gives. This is the composition of a universal hash
// with a pseudorandom function. A forgery needs two frames of one hash. For frames of up to a megabyte a
// pair has one hash with a probability of 2^-112, so 2^40 frames leave it below 2^-32. Unlike GCM's
// own tags, ours need no nonce that is unique among all processes.
type sealKey struct {
	hash  cipher.AEAD
	block cipher.Block
}

func newSealKey(secret []byte) (*sealKey, error) {
	if len(secret) < MinSecret {
		return nil, fmt.Errorf("it has %d bytes: use at least %d random ones", len(secret), MinSecret)
	}
	keys, err := hkdf.Key(sha256.New, secret, nil, "twofold cell", 64)
	if err != nil {
		return nil, err
	}
	inner, err := aes.NewCipher(keys[:32])
	if err != nil {
		return nil, err
	}
	hash, err := cipher.NewGCM(inner)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(keys[32:])
	return &sealKey{hash, block}, err
}

func (k *sealKey) accepts(frame []byte, key string, tag []byte) bool {
	want := k.tag(frame, key)
	return subtle.ConstantTimeCompare(want[:], tag) == 1
}

// fixed is the nonce of every hash.
var fixed [12]byte

// texts are buffers for the first text of a hash. The tag is written into them, too.
var texts = sync.Pool{New: func() any { return new([]byte) }}

// tag returns the tag of a value's frame. The frame has at least HeaderSize bytes.
func (k *sealKey) tag(frame []byte, key string) (tag [tagSize]byte) {
	buf := texts.Get().(*[]byte)
	text := append((*buf)[:0], frame[0])
	text = append(text, frame[1+tier.NonceSize:tier.RefreshAt]...)
	text = append(text, key...)
	n := len(text)
	text = k.hash.Seal(text[:0], fixed[:], text, frame[tier.HeaderSize:])
	k.block.Encrypt(text[n:], text[n:])
	copy(tag[:], text[n:])
	*buf = text
	texts.Put(buf)
	return tag
}
