package main

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
)

// asSite is the environment variable that makes the test binary the program.
const asSite = "SITE_TEST_IS_PROGRAM"

// processKey is the admin key of each site that launch starts.
const processKey = "admin-key-of-a-test"

// process is a site that runs as a separate process.
type process struct {
	URL, APIKey string
	cmd         *exec.Cmd
}

// launch starts the test binary as the program on a free port, and returns when it is ready.
func launch(ctx context.Context, flags ...string) (*process, error) {
	s := &process{cmd: exec.CommandContext(ctx, os.Args[0], append([]string{"serve", "--addr", "127.0.0.1:0", "--admin-key", processKey}, flags...)...)}
	s.cmd.Env = append(os.Environ(), asSite+"=1")
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
			s.URL = strings.TrimSuffix(words[4], "/")
			go io.Copy(io.Discard, out) //nolint:errcheck // it returns when the program ends
			return s, nil
		case strings.HasPrefix(text, "An API key is"):
			s.APIKey = words[len(words)-1]
		}
	}
	return nil, errors.Join(errors.New("the site has not come up"), lines.Err(), s.stop())
}

// kill kills the site with SIGKILL.
func (s *process) kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// stop stops the site, and waits for its end.
func (s *process) stop() error {
	if err := s.cmd.Process.Signal(os.Interrupt); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return s.cmd.Wait()
}
