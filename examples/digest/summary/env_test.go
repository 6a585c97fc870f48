package summary_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
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
		"settings alone":       {map[string]string{"OPENAI_TRIES": "2"}, "", summary.ErrConfig},
		"no number":            {map[string]string{"OPENAI_MODEL": "m", "OPENAI_MAX_COMPLETION_TOKENS": "15abc"}, "", summary.ErrConfig},
		"no tries":             {map[string]string{"OPENAI_MODEL": "m", "OPENAI_TRIES": "0"}, "", summary.ErrConfig},
		"no time":              {map[string]string{"OPENAI_MODEL": "m", "OPENAI_TIMEOUT": "1m"}, "", summary.ErrConfig},
		"all of them": {map[string]string{"OPENAI_MODEL": "m", "OPENAI_MAX_COMPLETION_TOKENS": "900", "OPENAI_TIMEOUT": "7",
			"OPENAI_TRIES": "1"}, "m", nil},
		"a wrong address": {map[string]string{"OPENAI_MODEL": "m", "OPENAI_BASE_URL": "localhost"}, "", summary.ErrConfig},
	} {
		s, err := summary.FromEnv(func(name string) string { return tt.env[name] })
		if !errors.Is(err, tt.err) {
			t.Errorf("%s: %v, want %v", name, err, tt.err)
		} else if err == nil && s.Variant().Model != tt.model {
			t.Errorf("%s: model %q, want %q", name, s.Variant().Model, tt.model)
		}
	}
}

// The error names every wrong variable.
func TestFromEnvNamesAll(t *testing.T) {
	_, err := summary.FromEnv(func(name string) string {
		return map[string]string{"OPENAI_TRIES": "many", "OPENAI_TIMEOUT": "hot"}[name]
	})
	if err == nil || !strings.Contains(err.Error(), `OPENAI_TRIES="many", want a whole number from 1 to 10`) || !strings.Contains(err.Error(), `OPENAI_TIMEOUT="hot"`) {
		t.Errorf("FromEnv = %v", err)
	}
}

// The settings reach the request.
func TestFromEnvSettings(t *testing.T) {
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		asked = append(asked, string(body))
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	defer srv.Close()
	s, err := summary.FromEnv(func(name string) string {
		return map[string]string{"OPENAI_MODEL": "m", "OPENAI_BASE_URL": srv.URL, "OPENAI_MAX_COMPLETION_TOKENS": "900", "OPENAI_TRIES": "1"}[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	_, err = s.Summarise(t.Context(), request())
	if !errors.Is(err, summary.ErrUnavailable) || len(asked) != 1 || !strings.Contains(asked[0], `"max_completion_tokens":900`) {
		t.Errorf("Summarise = %v after %d requests: %s", err, len(asked), asked)
	}
}
