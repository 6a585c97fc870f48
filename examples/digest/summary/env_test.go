package summary_test

import (
	"errors"
	"testing"

	"github.com/twofold-go/twofold/examples/digest/summary"
)

func TestFromEnv(t *testing.T) {
	for name, tt := range map[string]struct {
		env   map[string]string
		model string
		err   error
	}{
		"nothing":              {nil, "", nil},
		"a model":              {map[string]string{"OPENAI_MODEL": "m"}, "m", nil},
		"a model of one's own": {map[string]string{"OPENAI_MODEL": "m", "OPENAI_BASE_URL": "http://localhost:11434/v1"}, "m", nil},
		"a key alone":          {map[string]string{"OPENAI_API_KEY": "k"}, "", summary.ErrConfig},
		"an address alone":     {map[string]string{"OPENAI_BASE_URL": "http://localhost:11434/v1"}, "", summary.ErrConfig},
		"a wrong address":      {map[string]string{"OPENAI_MODEL": "m", "OPENAI_BASE_URL": "localhost"}, "", summary.ErrConfig},
	} {
		s, err := summary.FromEnv(func(name string) string { return tt.env[name] })
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, want %v", name, err, tt.err)
		} else if err == nil && s.Variant().Model != tt.model {
			t.Errorf("%s: model %q, want %q", name, s.Variant().Model, tt.model)
		}
	}
}
