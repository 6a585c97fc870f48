package sitemap

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
)

// readText reads URLs, one on each line. The first line decides whether it is a
// sitemap at all, for a page that says "not found" is text, too; therefore relative
// URLs are none here.
func readText(r *bufio.Reader, out *sink) error {
	out.opt.Base = nil
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxToken)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if err := out.put(raw{loc: line}); err != nil {
			return err
		}
		if out.sum.Entries == 0 {
			return fmt.Errorf("%w: text whose first line is no URL", ErrFormat)
		}
		out.sum.Kind = Text
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%w: a line of more than %d bytes", ErrLimit, maxToken)
	} else if err != nil {
		return fmt.Errorf("sitemap: %w", err)
	}
	return nil
}
