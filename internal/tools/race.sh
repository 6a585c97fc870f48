#!/bin/sh
# Tests packages under the race detector, as "go test -race" does. Now and then the detector itself
# aborts (ThreadSanitizer: CHECK failed), which is no verdict on the code. Then the run is repeated,
# three times in all. A race or a failed test ends it at once, and so does the third abort.
set -u
out="$(mktemp)"
trap 'rm -f "$out"' EXIT
for try in 1 2 3; do
	go test -race -vet=off -timeout 30m "$@" >"$out" 2>&1
	code=$?
	cat "$out"
	[ "$code" -ne 0 ] || exit 0
	grep -q 'ThreadSanitizer: CHECK failed' "$out" || exit "$code"
	! grep -qE 'DATA RACE|--- FAIL' "$out" || exit "$code"
	echo "the race detector aborted in run $try of 3" >&2
done
exit "$code"
