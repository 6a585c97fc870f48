//go:build !unix

package dbtest

import "os/exec"

func (a *account) apply(*exec.Cmd) {}

func children(int) ([]int, error) { return nil, errLinux }

func stopped(int) bool { return true }

func alive(int) bool { return false }

func freeSegment(string) {}
