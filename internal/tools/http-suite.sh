#!/bin/sh
# Fetches the public suite of HTTP caches from npm into a temporary folder, and
# runs it against package httpcache. It needs Node.js and npm.
set -eu
cd "$(dirname "$0")/../bench"
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
(
	cd "$dir"
	npm pack --silent http-cache-tests@0.4.5 >/dev/null
	tar xzf http-cache-tests-0.4.5.tgz
	cd package
	npm install --silent --omit=dev >/dev/null
)
go run ./cmd/httpsuite "$dir/package"
