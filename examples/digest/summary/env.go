package summary

import "cmp"

// DefaultBaseURL is where a model is asked when the environment names one and no place.
const DefaultBaseURL = "https://api.openai.com/v1"

// FromEnv returns the summariser that the environment asks for: the model OPENAI_MODEL at
// OPENAI_BASE_URL with OPENAI_API_KEY, or, without a model, [Extractive]. An address or a
// key without a model is an error: somebody means to use one.
func FromEnv(getenv func(string) string) (Summariser, error) {
	cfg := OpenAIConfig{BaseURL: getenv("OPENAI_BASE_URL"), APIKey: getenv("OPENAI_API_KEY"), Model: getenv("OPENAI_MODEL")}
	if cfg == (OpenAIConfig{}) {
		return NewExtractive(), nil
	}
	cfg.BaseURL = cmp.Or(cfg.BaseURL, DefaultBaseURL)
	return NewOpenAI(cfg)
}
