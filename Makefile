# What CI runs, a developer runs: `make check` before a commit, `make ci` before a push.
GO ?= go

.PHONY: check lint test race external chaos sim sim-robots sim-feeds mutate fuzz bench real ci cover deb

check: lint ## gofmt, lint, tidy, tests
	@test -z "$$(gofmt -l .)" || { gofmt -l .; echo 'run: gofmt -w .'; exit 1; }
	$(GO) mod tidy -diff
	$(GO) test ./...

lint: ## what go vet checks, staticcheck's checks, and our own: CONTRIBUTING.md
	tools/lint/run

test:
	$(GO) test ./...

race: ## the race detector on everything; .ci/run leaves out what starts nothing, and what runs programs
	GORACE="atexit_sleep_ms=20 suppressions=$(CURDIR)/.ci/races" $(GO) test -race -timeout 90m ./...

deb: ## a Debian package of this commit, in this folder
	deploy/build-deb

.PHONY: release release-check

release: ## all files of a release of this commit, in dist/; TARGETS=linux/amd64,linux/arm64 for some
	$(GO) run ./deploy/release $(if $(TARGETS),-targets $(TARGETS))

release-check: ## builds the release twice, from nothing, and compares; CACHE=shared compiles only once
	deploy/release-check $(if $(TARGETS),-targets $(TARGETS))

.PHONY: smoke long rounds

smoke: ## each program that Curtsy works with, once and briefly: the part of `make external` that .ci/run runs
	$(GO) test -tags external -count=1 -timeout 10m -run ExternalSmoke ./internal/deploytest

external: ## all external tests; needs the tools that .ci/run installs; a missing tool is a failure
	$(GO) test -tags external -count=1 -timeout 90m ./internal/deploytest ./internal/render/browser

long: race external chaos sim fuzz rounds ## hours: each test's long form, and all that .ci/run has no time for
	CURTSY_LONG=1 $(GO) test -count=1 -timeout 3h $$(grep -rlE 'CURTSY_LONG|testaid\.(Long|Runs)' --include='*_test.go' cmd internal pkg | xargs -n 1 dirname | sort -u | sed 's|^|./|')

rounds: ## all tests ROUNDS times under load (10), every second time with GOMAXPROCS=1
	.ci/rounds

chaos: export CHAOS_URLS ?= 20000
chaos: export CHAOS_HOSTS ?= 240
chaos: export CHAOS_KILLS ?= 32
chaos: ## a crawl by seven daemons and three NATS servers that are killed at random; CHAOS_SEEDS=10 for ten of them
	$(GO) test -tags external -count=1 -timeout $$(( $${CHAOS_SEEDS:-1} * 12 ))m -v -run '^TestExternalChaos$$' ./internal/deploytest

sim: export SEEDS ?= 200
sim: export FROM ?= 1
sim: ## crawls in virtual time with faults, a random web for each seed; SEEDS=1000 FROM=1
	$(GO) test -count=1 -timeout 0 -run '^TestSimulation$$' ./internal/simulation

sim-robots: export SEEDS ?= 200
sim-robots: export FROM ?= 1
sim-robots: ## the same with sites that let mobile robots in; half an hour
	$(GO) test -count=1 -timeout 0 -run '^TestRobotSimulation$$' ./internal/simulation

sim-feeds: export SEEDS ?= 200
sim-feeds: export FROM ?= 1
sim-feeds: ## the same with feeds, while pages change and vanish and both sides die
	$(GO) test -count=1 -timeout 0 -run '^TestFeedSimulation$$' ./internal/simulation

mutate: export MUTATE ?= 1
mutate: ## faults put into the product, each of which the simulation must find; MUTATE=lease for some
	$(GO) test -count=1 -timeout 0 -v -run '^TestMutations$$' ./internal/simulation

.PHONY: hostile
hostile: ## what mobile robots that mean harm cost agenthost: tables of cases, half an hour
	CURTSY_LONG=1 $(GO) test -count=1 -timeout 0 -v -run '^(TestHostile|TestManyDispatches)' ./internal/agenthost

FUZZTIME ?= 30s
fuzz: ## every fuzz target for FUZZTIME
	@for p in $$($(GO) list ./...); do \
	  for f in $$($(GO) test -list '^Fuzz' $$p | grep ^Fuzz); do \
	    echo "$$p $$f"; $(GO) test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 20x -parallel 1 $$p || exit 1; \
	  done; done

bench: ## what a page costs, by stage, and beside the peers
	cd bench && $(GO) run ./robots && $(GO) run ./pagecost -store=discard && $(GO) run ./pagecost && $(GO) run ./peers

real: ## the PostgreSQL and Python manuals through nginx (Debian, root)
	bench/real/run

ci:
	.ci/run
