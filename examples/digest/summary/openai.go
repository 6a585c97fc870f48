package summary

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/sony/gobreaker/v2"
)

// OpenAIConfig says which model is asked, and how. BaseURL and Model are required.
type OpenAIConfig struct {
	BaseURL string // what comes before "/chat/completions", for example https://api.openai.com/v1
	APIKey  string // empty: none is sent
	Model   string

	// Client does the requests, but follows no redirects: they would take the key
	// along. Nil: http.DefaultClient.
	Client *http.Client

	Timeout      time.Duration // of one try; 0: 60 s
	Tries        uint          // at most; 0: 4
	Patience     time.Duration // for all tries and the waits between them; 0: 2 min
	InputTokens  int           // budget of the prompt; 0: 12,000
	OutputTokens int           // budget of the text; 0: 2,000
}

// The budgets that an [OpenAIConfig] leaves zero.
const (
	DefaultInputTokens  = 12_000
	DefaultOutputTokens = 2_000
	minTokens           = 1_000 // with less there is no room for items
)

// OpenAI asks a model behind the chat completions API that many servers have. After five
// failures in a row it leaves the server alone for half a minute; after an answer 429 for
// as long as that says, an hour at most. All methods may be called concurrently.
type OpenAI struct {
	cfg      OpenAIConfig
	endpoint string
	breaker  *gobreaker.CircuitBreaker[reply]

	mu    sync.Mutex // protects until
	until time.Time  // the server is not to be asked before
}

// NewOpenAI returns a summariser that asks a model. It does not talk to the server. All
// that is wrong with the configuration is reported at once, without quoting it.
func NewOpenAI(cfg OpenAIConfig) (*OpenAI, error) {
	cfg.Timeout = cmp.Or(cfg.Timeout, time.Minute)
	cfg.Tries = cmp.Or(cfg.Tries, 4)
	cfg.Patience = cmp.Or(cfg.Patience, 2*time.Minute)
	cfg.InputTokens = cmp.Or(cfg.InputTokens, DefaultInputTokens)
	cfg.OutputTokens = cmp.Or(cfg.OutputTokens, DefaultOutputTokens)
	client := *cmp.Or(cfg.Client, http.DefaultClient)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	cfg.Client = &client
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return &OpenAI{
		cfg:      cfg,
		endpoint: strings.TrimSuffix(cfg.BaseURL, "/") + "/chat/completions",
		breaker: gobreaker.NewCircuitBreaker[reply](gobreaker.Settings{
			Name:        "model",
			Timeout:     30 * time.Second,
			ReadyToTrip: func(c gobreaker.Counts) bool { return c.ConsecutiveFailures >= 5 },
			// What the server says about a request says nothing about the server.
			IsSuccessful: func(err error) bool { return !errors.Is(err, ErrUnavailable) },
			IsExcluded:   func(err error) bool { return errors.Is(err, context.Canceled) },
		}),
	}, nil
}

func (c *OpenAIConfig) check() error {
	var errs []error
	u, err := url.Parse(c.BaseURL)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		errs = append(errs, fmt.Errorf("%w: BaseURL of %d bytes, must be http or https, with a host, and without user, query and fragment", ErrConfig, len(c.BaseURL)))
	}
	if c.Model == "" {
		errs = append(errs, fmt.Errorf("%w: Model is empty", ErrConfig))
	}
	if strings.ContainsFunc(c.APIKey, func(r rune) bool { return r <= ' ' || r > '~' }) {
		errs = append(errs, fmt.Errorf("%w: APIKey of %d bytes has a space, a line break or what is not ASCII", ErrConfig, len(c.APIKey)))
	}
	if c.InputTokens < minTokens || c.OutputTokens < 1 {
		errs = append(errs, fmt.Errorf("%w: InputTokens %d and OutputTokens %d, must be at least %d and 1", ErrConfig, c.InputTokens, c.OutputTokens, minTokens))
	}
	if c.Timeout < 0 || c.Patience < 0 {
		errs = append(errs, fmt.Errorf("%w: Timeout %v and Patience %v, must not be negative", ErrConfig, c.Timeout, c.Patience))
	}
	return errors.Join(errs...)
}

// Variant names the model, the prompt and the budgets, which shape the text too.
func (o *OpenAI) Variant() Variant {
	p := PromptVersion
	if o.cfg.InputTokens != DefaultInputTokens || o.cfg.OutputTokens != DefaultOutputTokens {
		p = fmt.Sprintf("%s/%d/%d", p, o.cfg.InputTokens, o.cfg.OutputTokens)
	}
	return Variant{Model: o.cfg.Model, Prompt: p}
}

// Summarise implements [Summariser]. The tokens of text that is then refused are spent
// all the same, and are told beside the error.
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
	if err == nil {
		var checked Summary
		checked, err = Check(got.text(), r.Items)
		s.Markdown, s.Dropped, s.Repaired = checked.Markdown, checked.Dropped, checked.Repaired
	}
	if err != nil {
		s.Markdown = "" // nobody is to take it for a digest
	}
	return s, err
}

// ask tries until there is an answer, or no point in trying again.
func (o *OpenAI) ask(ctx context.Context, messages []message) (reply, error) {
	body, err := encodeRequest(o.cfg, messages)
	if err != nil {
		return reply{}, err
	}
	got, err := backoff.Retry(ctx, func() (reply, error) {
		if err := o.mayAsk(); err != nil {
			return reply{}, backoff.Permanent(err)
		}
		got, err := o.breaker.Execute(func() (reply, error) { return o.try(ctx, body) })
		if errors.Is(err, gobreaker.ErrOpenState) || errors.Is(err, gobreaker.ErrTooManyRequests) {
			return got, backoff.Permanent(fmt.Errorf("%w: %w", ErrUnavailable, err))
		}
		return got, err
	}, backoff.WithMaxTries(o.cfg.Tries), backoff.WithMaxElapsedTime(o.cfg.Patience))
	if late, ok := errors.AsType[*again](err); ok {
		return got, o.giveUp(late)
	}
	return got, err
}

// maxAlone is how long a server is left alone at most: one that asks for years, by a
// mistake in a date, would else be asked again when the program is started again.
const maxAlone = time.Hour

// giveUp makes of the last failure what callers branch on. When the server has said how
// long it wants to be left alone, everybody here obeys.
func (o *OpenAI) giveUp(last *again) error {
	if !errors.Is(last.err, ErrRateLimited) {
		return last.err
	}
	wait := 10 * time.Second // when it does not say
	if last.after != nil {
		wait = min(last.after.Duration, maxAlone)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if until := time.Now().Add(wait); until.After(o.until) {
		o.until = until
	}
	return &RateLimitError{Until: o.until}
}

func (o *OpenAI) mayAsk() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if time.Now().Before(o.until) {
		return &RateLimitError{Until: o.until}
	}
	return nil
}
