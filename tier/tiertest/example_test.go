package tiertest_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/twofold-go/twofold/tier"
	"github.com/twofold-go/twofold/tier/tiertest"
)

// A load in the steps of the remote tier: claim, load, fill.
func ExampleMemory() {
	ctx := context.Background()
	remote := tiertest.NewMemory()

	keys, answers := []string{"user:42"}, make([]tier.Claimed, 1)

	mine := tier.NewNonce()
	_ = remote.Claim(ctx, keys, []tier.Claim{{Nonce: mine, Lease: time.Second}}, answers)
	fmt.Println("granted:", answers[0].Granted)

	_ = remote.Claim(ctx, keys, []tier.Claim{{Nonce: tier.NewNonce(), Lease: time.Second}}, answers)
	fmt.Println("to somebody else:", answers[0].Granted)

	cell := tier.Cell{Nonce: tier.NewNonce(), Codec: "raw", Payload: []byte("Ada")}
	frame, _ := cell.Encode()
	stored := make([]bool, 1)
	_ = remote.Fill(ctx, keys, []tier.Fill{{Nonce: mine, Cell: frame, TTL: time.Minute}}, stored)
	fmt.Println("stored:", stored[0])

	frames := make([][]byte, 1)
	_ = remote.Get(ctx, keys, frames)
	read, _ := tier.ParseCell(frames[0])
	fmt.Printf("read: %s\n", read.Payload)
	// Output:
	// granted: true
	// to somebody else: false
	// stored: true
	// read: Ada
}

// A remote tier that is down, and how often it was called.
func ExampleFaulty() {
	ctx := context.Background()
	remote := tiertest.NewFaulty(tiertest.NewMemory())

	keys, frames := []string{"user:42"}, make([][]byte, 1)
	remote.Fail(errors.New("connection refused"), tiertest.Get)
	fmt.Println(remote.Get(ctx, keys, frames))

	remote.Heal()
	fmt.Println(remote.Get(ctx, keys, frames))
	fmt.Println(remote.Calls(tiertest.Get), "gets")
	// Output:
	// connection refused
	// <nil>
	// 2 gets
}

// Call the suite from a test of your own tier.
func ExampleTestRemote() { //nolint:testableexamples // it needs a *testing.T to run
	_ = func(t *testing.T) { // func TestMyTier(t *testing.T)
		tiertest.TestRemote(t, func(t *testing.T) tier.Remote {
			return tiertest.NewMemory()
		})
	}
}

// The suite for local tiers needs tiers of [tiertest.LocalBudget] bytes.
func ExampleTestLocal() { //nolint:testableexamples // it needs a *testing.T to run
	_ = func(t *testing.T) { // func TestMyTier(t *testing.T)
		tiertest.TestLocal(t, func(t *testing.T) tier.Local {
			return newLRU()
		})
	}
}
