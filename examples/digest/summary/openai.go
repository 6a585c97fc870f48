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

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/twofold-go/twofold/examples/internal/fetch"
)

// OpenAIConfig configures the calls of a model.
type OpenAIConfig struct {
	BaseURL      string // the part before "/chat/completions", for example https://api.openai.com/v1
	APIKey       string // empty means that it is not sent
	Model        string
	Client       *http.Client  // redirects are not followed, because they would send the key along; nil means http.DefaultClient
	Timeout      time.Duration // of one try; zero means 60 s
	Tries        uint          // the most tries; zero means 4
	InputTokens  int           // token budget of the prompt; zero means 12,000
	OutputTokens int           // token budget of the text; zero means 2,000
}

// The default budgets of an [OpenAIConfig].
const (
	DefaultInputTokens  = 12_000
	DefaultOutputTokens = 2_000
	patience            = 2 * time.Minute // for all tries and the waits between them
)

// OpenAI calls a model through the chat completions API. After failed tries it pauses.
type OpenAI struct {
	cfg    OpenAIConfig
	client openai.Client
	mu     sync.Mutex // protects until
	until  time.Time  // no requests before this time
}

// NewOpenAI returns a summariser that calls a model.
func NewOpenAI(cfg OpenAIConfig) (*OpenAI, error) {
	cfg.Timeout = cmp.Or(cfg.Timeout, time.Minute)
	cfg.Tries = cmp.Or(cfg.Tries, 4)
	cfg.InputTokens = cmp.Or(cfg.InputTokens, DefaultInputTokens)
	cfg.OutputTokens = cmp.Or(cfg.OutputTokens, DefaultOutputTokens)
	if err := cfg.check(); err != nil {
		return nil, err
	}
	client := *cmp.Or(cfg.Client, http.DefaultClient)
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	options := []option.RequestOption{
		option.WithBaseURL(cfg.BaseURL), option.WithHTTPClient(&client), option.WithMiddleware(limited),
		option.WithMaxRetries(int(cfg.Tries) - 1), option.WithRequestTimeout(cfg.Timeout), option.WithAPIKey(cfg.APIKey),
	}
	if cfg.APIKey == "" {
		options = append(options, option.WithHeaderDel("Authorization"))
	}
	return &OpenAI{cfg: cfg, client: openai.NewClient(options...)}, nil
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
		"APIKey of %d bytes has a space, a line break or a character that is not ASCII", len(c.APIKey))
	return errors.Join(errs...)
}

// Variant names the model, the prompt and the settings that shape the text.
func (o *OpenAI) Variant() Variant {
	p := PromptVersion
	if o.cfg.InputTokens != DefaultInputTokens || o.cfg.OutputTokens != DefaultOutputTokens {
		p = fmt.Sprintf("%s/%d/%d", p, o.cfg.InputTokens, o.cfg.OutputTokens)
	}
	return Variant{Model: o.cfg.Model, Prompt: p}
}

// Summarise implements [Summariser]. It returns the tokens spent even with an error,
// because a refused text costs as much.
func (o *OpenAI) Summarise(ctx context.Context, r Request) (Summary, error) {
	if err := r.Validate(); err != nil {
		return Summary{}, err
	}
	messages, items, err := prompt(r, o.cfg.InputTokens)
	if err != nil {
		return Summary{}, err
	}
	got, err := o.ask(ctx, messages)
	s := Summary{Model: o.cfg.Model, Items: items, Tokens: max(got.Usage.TotalTokens, got.Usage.PromptTokens+got.Usage.CompletionTokens, 0)}
	if err != nil {
		return s, err
	}
	checked, err := Check(got.Choices[0].Message.Content, r.Items)
	s.Dropped = checked.Dropped
	if err == nil { // a refused text must not be used as a digest
		s.Markdown = checked.Markdown
	}
	return s, err
}

// ask sends a request and tries again, unless the server wants none for a while. Its errors omit the
// server's messages, which may repeat prompt and key.
func (o *OpenAI) ask(ctx context.Context, messages []openai.ChatCompletionMessageParamUnion) (openai.ChatCompletion, error) {
	o.mu.Lock()
	until := o.until
	o.mu.Unlock()
	if time.Now().Before(until) {
		return openai.ChatCompletion{}, &RateLimitError{Until: until}
	}
	patient, cancel := context.WithTimeout(ctx, max(patience, o.cfg.Timeout+patience/4))
	defer cancel()
	var res *http.Response
	got, err := o.client.Chat.Completions.New(patient, openai.ChatCompletionNewParams{
		Model: o.cfg.Model, Messages: messages, MaxCompletionTokens: openai.Int(int64(o.cfg.OutputTokens)),
	}, option.WithResponseInto(&res))
	switch {
	case err == nil && res.StatusCode == http.StatusOK:
		return *got, check(got)
	case ctx.Err() != nil:
		return openai.ChatCompletion{}, context.Cause(ctx)
	}
	if err = o.failure(res, err); errors.Is(err, ErrRateLimited) || errors.Is(err, ErrUnavailable) {
		err = o.giveUp(res, err)
	}
	return openai.ChatCompletion{}, err
}

const maxAlone = time.Hour

// giveUp turns the last failure into an error for callers, and stops all requests for a while.
func (o *OpenAI) giveUp(res *http.Response, last error) error {
	limited, wait := errors.Is(last, ErrRateLimited), 30*time.Second
	if limited {
		wait = 10 * time.Second // if the server does not say
	}
	if res != nil {
		wait = min(cmp.Or(fetch.RetryAfter(res.Header.Get("Retry-After"), time.Now()), wait), maxAlone)
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
