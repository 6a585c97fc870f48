#!/bin/sh
# Runs every fuzz test of the root module for a while, one after the other:
# go test fuzzes one target of one package at a time.
#
#	sh internal/tools/fuzz.sh 30s
set -eu

time="${1:-30s}"
list=$(go test -list '^Fuzz' ./...)

# The names of a package come before its "ok" line.
printf '%s\n' "$list" | awk '
	/^Fuzz/     { names[++n] = $1 }
	$1 == "ok"  { for (i = 1; i <= n; i++) print $2, names[i]; n = 0 }
' | while read -r package name; do
	echo "== $package $name ($time)"
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$time" "$package" </dev/null
done
