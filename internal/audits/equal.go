package audits

import (
	"bytes"
	"reflect"

	"github.com/twofold-go/twofold/codec"
	"github.com/twofold-go/twofold/internal/resident"
)

func (a *audit) equal(x, y *resident.Entry) bool {
	if x.Err != nil || y.Err != nil {
		return x.Err != nil && y.Err != nil
	}
	return sameValue(a.j.View.Store, x, y)
}

// sameValue compares two values. A codec may write equal maps in different orders, and a value that was
// read from the remote tier has lost what the codec leaves out. So it compares what a reader of the
// remote tier would get.
func sameValue(s *resident.Store, x, y *resident.Entry) bool {
	if same, known := s.Kind.Equal(x, y); known {
		return same
	}
	v, w := s.Kind.Value(x), s.Kind.Value(y)
	if s.Far == nil {
		return reflect.DeepEqual(v, w)
	}
	a, errA := codec.MarshalWithin(s.Codec, reflect.ValueOf(v).Elem().Interface(), maxAudited)
	b, errB := codec.MarshalWithin(s.Codec, reflect.ValueOf(w).Elem().Interface(), maxAudited)
	if errA != nil || errB != nil {
		return reflect.DeepEqual(v, w)
	}
	if bytes.Equal(a, b) {
		return true
	}
	backV, backW := reflect.New(s.ValueType).Interface(), reflect.New(s.ValueType).Interface()
	return s.Codec.Unmarshal(a, backV) == nil && s.Codec.Unmarshal(b, backW) == nil && reflect.DeepEqual(backV, backW)
}

// maxAudited bounds the memory of a comparison. Values that encode to more are compared in place.
const maxAudited = 64 << 20
