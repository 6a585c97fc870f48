package summary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// OpenAIConfig says which model is asked, and how.
type OpenAIConfig struct {
	BaseURL      string // what comes before "/chat/completions", for example https://api.openai.com/v1
	APIKey       string // empty: none is sent
	Model        string
	Client       *http.Client  // follows no redirects: they would take the key along; nil: http.DefaultClient
	Timeout      time.Duration // of one try; 0: 60 s
	Tries        uint          // at most; 0: 4
	InputTokens  int           // budget of the prompt; 0: 12,000
	OutputTokens int           // budget of the text; 0: 2,000
	Temperature  *float64      // nil: none is sent, so the model uses its own
}

// The budgets that an [OpenAIConfig] leaves zero.
const (
	DefaultInputTokens  = 12_000
	DefaultOutputTokens = 2_000
	patience            = 2 * time.Minute // for all tries and the waits between them
)

// OpenAI asks a model by the chat completions API. When all tries have failed it leaves the server alone for a while.
type OpenAI struct {
	cfg      OpenAIConfig
	endpoint string
	mu       sync.Mutex // protects what follows
	until    time.Time  // the server is not to be asked before
	form     form       // what the model accepts
}

// NewOpenAI returns a summariser that asks a model.
func NewOpenAI(cfg OpenAIConfig) (*OpenAI, error) {
	cfg.Timeout = cmp.Or(cfg.Timeout, time.Minute)
	cfg.Tries = cmp.Or(cfg.Tries, 4)
	cfg.InputTokens = cmp.Or(cfg.InputTokens, DefaultInputTokens)
	cfg.OutputTokens = cmp.Or(cfg.OutputTokens, DefaultOutputTokens)
	client := *cmp.Or(cfg.Client, http.DefaultClient)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	cfg.Client = &client
	if err := cfg.check(); err != nil {
		return nil, err
	}
	endpoint := strings.TrimSuffix(cfg.BaseURL, "/") + "/chat/completions"
	return &OpenAI{cfg: cfg, endpoint: endpoint, form: form{Limit: newLimit, Temperature: cfg.Temperature}}, nil
}

func (c *OpenAIConfig) check() error {
	var errs []error
	wrong := func(is bool, format string, args ...any) {
		if is {
			errs = append(errs, fmt.Errorf("%w: "+format, append([]any{ErrConfig}, args...)...))
		}
	}
	u, err := url.Parse(c.BaseURL)
	wrong(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "",
		"BaseURL of %d bytes, must be http or https, with a host, and without user, query and fragment", len(c.BaseURL))
	wrong(c.Model == "", "Model is empty")
	wrong(strings.ContainsFunc(c.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }),
		"APIKey of %d bytes has a space, a line break or what is not ASCII", len(c.APIKey))
	return errors.Join(errs...)
}

// Variant names the model, the prompt and the settings that shape the text.
func (o *OpenAI) Variant() Variant {
	p := PromptVersion
	if o.cfg.InputTokens != DefaultInputTokens || o.cfg.OutputTokens != DefaultOutputTokens {
		p = fmt.Sprintf("%s/%d/%d", p, o.cfg.InputTokens, o.cfg.OutputTokens)
	}
	if t := o.cfg.Temperature; t != nil {
		p += "/t" + strconv.FormatFloat(*t, 'g', -1, 64)
	}
	return Variant{Model: o.cfg.Model, Prompt: p}
}

// Summarise implements [Summariser]. The tokens of text that is then refused are spent all the same: they come beside the error.
func (o *OpenAI) Summarise(ctx context.Context, r Request) (Summary, error) {
	if err := r.Validate(); err != nil {
		return Summary{}, err
	}
	messages, items, err := prompt(r, o.cfg.InputTokens)
	if err != nil {
		return Summary{}, err
	}
	got, err := o.ask(ctx, messages)
	s := Summary{Model: o.cfg.Model, Items: items, Tokens: got.Usage.total()}
	if err != nil {
		return s, err
	}
	checked, err := Check(got.Choices[0].Message.Content, r.Items)
	s.Dropped = checked.Dropped
	if err == nil { // what is refused is not to be taken for a digest
		s.Markdown = checked.Markdown
	}
	return s, err
}

func (o *OpenAI) ask(ctx context.Context, messages []message) (reply, error) {
	got, err := backoff.Retry(ctx, func() (got reply, err error) {
		for range 3 { // as it is, and without each of two parts
			form, refusal := o.mayAsk()
			if refusal != nil {
				return got, backoff.Permanent(refusal)
			}
			if got, err = o.try(ctx, messages, form); !o.adapt(form, err) {
				break
			}
		}
		return got, err
	}, backoff.WithMaxTries(o.cfg.Tries), backoff.WithMaxElapsedTime(max(patience, o.cfg.Timeout+patience/4)))
	_, told := errors.AsType[*RateLimitError](err)
	if !told && (errors.Is(err, ErrRateLimited) || errors.Is(err, ErrUnavailable)) {
		err = o.giveUp(err)
	}
	return got, err
}

const maxAlone = time.Hour

// giveUp makes of the last failure what callers branch on. All callers leave the server alone for a while.
func (o *OpenAI) giveUp(last error) error {
	limited, wait := errors.Is(last, ErrRateLimited), 30*time.Second
	if limited {
		wait = 10 * time.Second // when it does not say
	}
	if after, ok := errors.AsType[*backoff.RetryAfterError](last); ok {
		wait = min(after.Duration, maxAlone)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if until := time.Now().Add(wait); until.After(o.until) {
		o.until = until
	}
	if limited {
		return &RateLimitError{Until: o.until, Err: last}
	}
	return last
}

func (o *OpenAI) mayAsk() (form, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Now().Before(o.until) {
		return form{}, &RateLimitError{Until: o.until}
	}
	return o.form, nil
}

// adapt reports whether the model refused a part of the form that it can do without.
func (o *OpenAI) adapt(sent form, err error) bool {
	e, ok := errors.AsType[*ModelError](err)
	if !ok || e.Status != http.StatusBadRequest && e.Status != http.StatusUnprocessableEntity {
		return false
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case sent.Temperature != nil && e.about("temperature"):
		o.form.Temperature = nil
	case sent.Limit == newLimit && e.about(newLimit):
		o.form.Limit = oldLimit
	case sent.Limit == oldLimit && e.about(oldLimit):
		o.form.Limit = newLimit
	default:
		return false
	}
	return true
}
