// Package siteproc runs the site as a process of its own, for programs that look
// at it from outside.
package siteproc

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// AdminKey is the admin key of every site that Start starts.
const AdminKey = "admin-key-of-a-test"

// Build builds the site into dir and returns the program's path.
func Build(ctx context.Context, dir string) (string, error) {
	path := filepath.Join(dir, "site")
	out, err := exec.CommandContext(ctx, "go", "build", "-o", path, "github.com/twofold-go/twofold/examples/site").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
}

// Site is a site that runs.
type Site struct {
	URL, APIKey string
	cmd         *exec.Cmd
}

// Start starts the program on a free port and a new database, with more flags if
// there are any, and returns when it is up.
func Start(ctx context.Context, program string, flags ...string) (*Site, error) {
	s := &Site{cmd: exec.CommandContext(ctx, program, append([]string{"-addr", "127.0.0.1:0", "-admin-key", AdminKey}, flags...)...)}
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		switch text := lines.Text(); {
		case strings.HasPrefix(text, "The site is at"):
			s.URL = strings.TrimSuffix(words[len(words)-1], "/")
		case strings.HasPrefix(text, "An API key is"):
			s.APIKey = words[len(words)-1]
		case strings.HasPrefix(text, "Ctrl+C"):
			go io.Copy(io.Discard, out) //nolint:errcheck // it ends with the program
			return s, nil
		}
	}
	return nil, errors.Join(errors.New("the site has not come up"), lines.Err(), s.Stop())
}

// Kill ends the site at once, without a word.
func (s *Site) Kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// Stop tells the site to end, and waits until it has.
func (s *Site) Stop() error {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return s.cmd.Wait()
}
