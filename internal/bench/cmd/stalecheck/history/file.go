package history

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// Recorder writes events to a file, with a short delay at most, so little is lost when the
// process dies. All methods may be called concurrently.
type Recorder struct {
	mu    sync.Mutex // protects all below
	f     *os.File
	w     *bufio.Writer
	buf   []byte
	saved time.Time
}

// moment is how long events stay in memory while further events arrive.
const moment = 50 * time.Millisecond

// Create returns a Recorder that writes to a new file.
func Create(path string) (*Recorder, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	return &Recorder{f: f, w: bufio.NewWriterSize(f, 1<<16)}, nil
}

// Add records events. Close reports errors.
func (r *Recorder) Add(events ...Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf = r.buf[:0]
	for i := range events {
		r.buf = events[i].append(r.buf)
	}
	_, _ = r.w.Write(r.buf) // the writer remembers the error for Close
	if now := time.Now(); now.Sub(r.saved) > moment {
		_ = r.w.Flush()
		r.saved = now
	}
}

// Close ends the file.
func (r *Recorder) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := errors.Join(r.w.Flush(), r.f.Close()); err != nil {
		return fmt.Errorf("history: %w", err)
	}
	return nil
}

// ReadFile returns the events of a worker's file. A history with a missing part must not look
// complete: only the file of a killed worker may end in the middle of an event.
func ReadFile(path string, worker uint8, killed bool) ([]Event, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("history: %w", err)
	}
	defer func() { _ = f.Close() }()
	in := bufio.NewReaderSize(f, 1<<16)
	var events []Event
	b := make([]byte, size)
	for {
		_, err := io.ReadFull(in, b)
		if errors.Is(err, io.EOF) || killed && errors.Is(err, io.ErrUnexpectedEOF) {
			return events, nil
		} else if err != nil {
			return nil, fmt.Errorf("history: %s: after %d events: %w", path, len(events), err)
		}
		e, err := decode(b, worker)
		if err != nil {
			return nil, fmt.Errorf("history: %s: event %d: %w", path, len(events), err)
		}
		events = append(events, e)
	}
}
