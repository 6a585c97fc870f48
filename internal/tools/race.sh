#!/bin/sh
# Tests packages under the race detector, as "go test -race" does. Go 1.26 runs the timers of one
# testing/synctest bubble on several threads with one context of the detector, which may then abort.
# That is no verdict on the code, so the run is repeated, three times in all. A race or a failed test
# ends it at once, and so does the third abort. (A nil pointer in Go code is a panic, and no line of
# its output begins with SIGSEGV.)
set -u
out="$(mktemp)"
trap 'rm -f "$out"' EXIT
for try in 1 2 3; do
	go test -race -vet=off -timeout 30m "$@" >"$out" 2>&1
	code=$?
	cat "$out"
	[ "$code" -ne 0 ] || exit 0
	grep -qE 'ThreadSanitizer: CHECK failed|^SIGSEGV: segmentation violation$' "$out" || exit "$code"
	! grep -qE 'DATA RACE|--- FAIL' "$out" || exit "$code"
	echo "the race detector aborted in run $try of 3" >&2
done
exit "$code"
