//go:build !race

package track_test

const modelSteps = 1_200
