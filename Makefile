# Every command of the repository. `make` alone lists them.

# bench/ and tools/ are modules of their own, so that peers and linters stay out of the go.mod that users get.
MODULES := $(patsubst %/,%,$(dir $(wildcard ./go.mod ./*/go.mod)))
SYSTEMS := linux darwin windows

BENCH ?= .
COUNT ?= 6

each = @set -e; for module in $(MODULES); do echo "$@: $$module"; (cd $$module; $(1)); done

.PHONY: help demo test check bench mutants gofmt vet staticcheck tidy floors deterministic documented bin

help: ## list these commands
	@sed -n 's/^\([a-z]*\):[^#]*## /\1	/p' $(MAKEFILE_LIST) | expand -t 15

demo: ## watch a leader be killed and another take over
	go run ./cmd/simba demo

test: ## run every test under the race detector, and 10,000 simulated worlds, setting up what they need
	@.ci/test

check: gofmt vet staticcheck tidy floors deterministic documented ## run every static check, from gofmt to documented

bench: bin ## run the benchmarks and sum them up: BENCH=regexp COUNT=runs, raw figures in .tmp/bench.txt
	@mkdir -p .tmp
	go test -run '^$$' -bench '$(BENCH)' -benchmem -count $(COUNT) ./... >.tmp/bench.txt || { cat .tmp/bench.txt; exit 1; }
	bin/benchstat .tmp/bench.txt

mutants: bin ## plant bugs, one at a time, and see that the simulator catches each: docs/mutants.md
	@bin/mutants

gofmt: ## the formatting
	@echo "$@: ."
	@gofmt -d .

vet: ## go build and go vet, tests included, for every system that Simba supports
	$(call each,for os in $(SYSTEMS); do GOOS=$$os go build -buildvcs=false -o /dev/null ./...; GOOS=$$os go vet ./...; done)

staticcheck: bin ## staticcheck
	$(call each,"$(CURDIR)/bin/staticcheck" ./...)

tidy: ## go.mod and go.sum say what the code imports
	$(call each,go mod tidy -diff)

floors: bin ## imports go down only, and the core imports no driver (tools/floors/table.go)
	@echo "$@: ."
	@bin/floors .

deterministic: bin ## no behaviour depends on more than its messages and its context (tools/deterministic/table.go)
	@echo "$@: ."
	@bin/deterministic .

documented: bin ## every exported name and every package has a comment
	@echo "$@: $(MODULES)"
	@bin/documented $(MODULES)

bin: # the pinned tools of tools/go.mod, and our own
	@GOBIN="$(CURDIR)/bin" go -C tools install -buildvcs=false tool
