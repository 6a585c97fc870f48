// Package examples is the root of the example programs. Each folder is one small program on
// top of the library. Run one from the root of the repository:
//
//	go run ./examples/NAME
//
// The programs are a separate module, so users of the library do not get their dependencies.
//
// The dependencies, and what each saves:
//
//   - alecthomas/kong: commands and flags
//   - cenkalti/backoff: the pauses between failed runs of the tracker
//   - code.dny.dev/ssrf: the addresses that a crawler may not reach
//   - gorilla/feeds, mmcdole/gofeed: to write feeds, and to read them
//   - gowebpki/jcs: JSON in one form, for hashes
//   - joho/godotenv: .env files
//   - microcosm-cc/bluemonday, yuin/goldmark: Markdown to safe HTML
//   - modernc.org/sqlite, pressly/goose, stephenafamo/scan: the database without C, its migrations, its rows
//   - openai/openai-go: a model's API, with tries and typed errors
//   - prometheus/client_golang, go.opentelemetry.io/otel: metrics
//   - redis/go-redis: the second layer of the cache
//   - rivo/uniseg: to cut a text between the letters that a reader sees
//   - robfig/cron: an interval given as a cron line
//   - tidwall/gjson: answers of services whose form varies
//   - temoto/robotstxt: the rules of robots.txt
//   - go.yaml.in/yaml: the tracker's settings
//   - golang.org/x/net, x/sync, x/text: HTML, groups of goroutines, charsets
//   - google/go-cmp, go.uber.org/goleak, pgregory.net/rapid: only tests
//
// Their licences are MIT, BSD, ISC or Apache 2.0.
package examples
