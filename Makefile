# Every target works from a fresh clone with Go and make; `make test` installs what else
# the tests need. Modules are those of go.work, plus the tools.

TOOL     = GOWORK=off go tool -modfile="$(CURDIR)/internal/tools/go.mod"
MODULES  = $$(go list -m -f '{{.Dir}}')
# The tests run without vet, which is part of lint.
# The race detector runs over what has goroutines of its own. internal/bench is left out: the compared
# libraries build slowly with it. So are packages that only read, compile or count. internal/follow
# runs on its own, because the detector itself may abort there; see internal/tools/race.sh.
RACE     = $$(go list work | grep -vE '/internal/(bench|repo|follow|tools)')
# Other machines that the library builds for.
TARGETS  = windows/amd64 darwin/arm64 linux/386 linux/arm64
PKG      ?= ./cache
BENCH    ?= .
COUNT    ?= 1
FUZZTIME ?= 30s

.DEFAULT_GOAL := help
.PHONY: help test test-race test-root stalecheck stalecheck-all fmt vet lint test-mariadb test-controls bench bench-db bench-http http-suite fleet bench-quick bench-go fuzz tidy release-check deps-test

# The checker, built with the tag that lets its controls remove safeguards.
STALECHECK = go run -tags twofold_controls ./internal/bench/cmd/stalecheck

help: ## print this list
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "  %-15s %s\n", $$1, $$2 }' Makefile

test: deps-test ## test every module with real Redis and PostgreSQL servers (the README's command)
	go test -vet=off -timeout 30m work

test-race: deps-test ## test under the race detector what has goroutines of its own
	go test -race -vet=off -timeout 30m $(RACE)
	sh internal/tools/race.sh ./internal/follow

test-root: ## build the root module without go.work, as its users do
	GOWORK=off go vet ./...

test-mariadb: ## run the tests that start a MariaDB server; installs it with apt-get if possible
	@sh internal/tools/deps.sh mariadb
	TWOFOLD_MARIADB=1 go test -race -vet=off -run MariaDB ./internal/dbtest
	TWOFOLD_MARIADB=1 go test -race -vet=off -run /mariadb ./internal/dbtest/sqllogtest

test-controls: deps-test ## remove safeguards of the log, one set after the other; the tests must detect each removal
	go test -count=1 -tags twofold_controls -run Controls ./internal/follow ./invalidate/redislog ./internal/dbtest/sqllogtest

stalecheck: deps-test ## look for stale reads under faults, with controls that must find some (a minute and a half)
	$(STALECHECK) -suite ci

stalecheck-all: deps-test ## run every fault and every control; rewrites internal/bench/STALENESS.md (an hour)
	$(STALECHECK) -suite all -out internal/bench/STALENESS.md

fmt: ## format every module
	$(TOOL) golangci-lint fmt

vet: ## run go vet on the root module, its tests too, for other machines; here it is part of lint
	@for t in $(TARGETS); do echo "vet $$t"; GOWORK=off CGO_ENABLED=0 GOOS=$${t%/*} GOARCH=$${t#*/} go vet ./... || exit 1; done

lint: ## run golangci-lint on every module
	@for dir in $(MODULES); do echo "lint $${dir#$(CURDIR)/}"; (cd "$$dir" && $(TOOL) golangci-lint run ./...) || exit 1; done

bench: deps-test ## compare every library in every workload; rewrites internal/bench/RESULTS.md (half an hour)
	go run ./internal/bench/cmd/bench -out internal/bench/RESULTS.md

bench-db: deps-test ## measure logs and cells in databases only; rewrites internal/bench/DATABASES.md (two minutes)
	go run ./internal/bench/cmd/bench -only I -out internal/bench/DATABASES.md

bench-http: deps-test ## measure pages over HTTP only; rewrites internal/bench/HTTP.md (a minute and a half)
	go run ./internal/bench/cmd/bench -only J -out internal/bench/HTTP.md

http-suite: ## run the public suite of HTTP caches, from npm, against a handler and a client; needs Node.js (a minute)
	sh internal/tools/http-suite.sh

fleet: deps-test ## measure 1 to 200 processes on one Redis under 0 to 20,000 invalidations a second; rewrites internal/bench/FLEET.md (six minutes)
	go run ./internal/bench/cmd/fleet -out internal/bench/FLEET.md

bench-quick: deps-test ## compare the libraries in two minutes; prints the results
	go run ./internal/bench/cmd/bench -suite quick

bench-go: ## run Go's own benchmarks: PKG=./cache BENCH=LocalHit COUNT=10
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) $(PKG)

fuzz: ## run every fuzz test of the root module for FUZZTIME each
	sh internal/tools/fuzz.sh $(FUZZTIME)

release-check: ## pack the modules as a proxy serves them, and build a program outside the workspace against each (half a minute)
	go run ./internal/repo/release

tidy: ## tidy every module, the tools included
	@for dir in $(MODULES) internal/tools; do (cd "$$dir" && GOWORK=off go mod tidy) || exit 1; done

deps-test: ## install redis-server, PostgreSQL, clients and a C compiler if they are missing
	@sh internal/tools/deps.sh
