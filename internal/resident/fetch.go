package resident

import (
	"context"
	"errors"

	"github.com/twofold-go/twofold/internal/calls"
	"github.com/twofold-go/twofold/internal/fence"
	"github.com/twofold-go/twofold/internal/testkit/safeguard"
)

// ErrUnconfirmed means that the remote tier's answer cannot be checked.
var ErrUnconfirmed = errors.New("cache: no lease")

// CanCheckFrames reports whether the process can check frames now. It asks for a lease if necessary.
func (j *Job) CanCheckFrames(ctx context.Context) bool {
	if j.Core.Follower == nil {
		return true
	}
	j.Core.Confirm(ctx, j.Opts.Within(), j.Core.Now())
	return !j.Core.Follower.Owes() && j.leaseAllows(j.Core.Lease.Read())
}

// leaseAllows reports whether the lease lets the process check a frame now.
func (j *Job) leaseAllows(lease int64) bool {
	return safeguard.Off(safeguard.Lease) || j.Core.Lease.Within(lease, j.Core.Now(), j.Opts.Within())
}

// Assess checks a frame under a lease. If the process was paused after it asked for the frame
// and the lease has ended, Assess asks for a new lease. While an invalidation of this process is
// not in the log, no fence shows that the frame is old. So Owes is read before the fences, like
// the lease: an invalidation that reaches the log in between leaves a fence that checkFrame finds.
func (j *Job) Assess(ctx context.Context, raw []byte, mark fence.Mark) (Frame, error) {
	for try := 0; ; try++ {
		lease, owes := j.Core.Lease.Read(), j.Core.Follower != nil && j.Core.Follower.Owes()
		f := j.checkFrame(raw, mark)
		if f.Verdict != Usable || (!owes && j.leaseAllows(lease)) {
			return f, nil
		}
		if try > 0 || !j.CanCheckFrames(ctx) {
			return Frame{}, ErrUnconfirmed
		}
	}
}

// GetCell asks the remote tier for the job's cell and checks it.
func (j *Job) GetCell(ctx context.Context, d *calls.Deadline) (Frame, error) {
	if !j.CanCheckFrames(ctx) {
		return Frame{}, ErrUnconfirmed
	}
	mark := j.Core.Fences.Capture() // before the fetch: an invalidation may overtake the reply
	raw, err := j.View.Counts.Far.Get(ctx, d, j.Policy.RemoteTimeout, j.FullKey())
	if err != nil {
		return Frame{}, err
	}
	return j.Assess(ctx, raw, mark)
}
