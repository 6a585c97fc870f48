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

	mine := tier.NewNonce()
	got, _ := remote.Claim(ctx, "user:42", tier.Claim{Nonce: mine, Lease: time.Second})
	fmt.Println("granted:", got.Granted)

	other, _ := remote.Claim(ctx, "user:42", tier.Claim{Nonce: tier.NewNonce(), Lease: time.Second})
	fmt.Println("to somebody else:", other.Granted)

	cell := tier.Cell{Nonce: tier.NewNonce(), Codec: "raw", Payload: []byte("Ada")}
	frame, _ := cell.Encode()
	stored, _ := remote.Fill(ctx, "user:42", tier.Fill{Nonce: mine, Cell: frame, TTL: time.Minute})
	fmt.Println("stored:", stored)

	frame, _ = remote.Get(ctx, "user:42")
	read, _ := tier.ParseCell(frame)
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

	remote.Fail(errors.New("connection refused"), tiertest.Get, tiertest.GetMany)
	_, err := remote.Get(ctx, "user:42")
	fmt.Println(err)

	remote.Heal()
	_, err = remote.Get(ctx, "user:42")
	fmt.Println(err)
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
