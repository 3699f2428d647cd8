# `make` without a target prints the list of targets.
.DEFAULT_GOAL := help
.PHONY: help demo demo-live test test-kafka check format release package bench bench-parts chaos chaos-faults histories fuzz tsan asan clean

help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(firstword $(MAKEFILE_LIST))

demo: ## build receiptd and watch it work, on embedded parts
	@scripts/demo.sh

# Ctrl-C ends the demo. The demo runs in a process group of its own, so that make does not get the signal. Otherwise
# make would end as after a failure.
demo-live: ## the same parts with steady simulated traffic, the worker's page and the console, until Ctrl-C
	@bash -m -c 'setpriv --pdeathsig TERM scripts/demo.sh --live || [[ $$? -eq 130 ]]'

test: ## all checks and all tests: what CI runs
	@scripts/test.sh

# The tests use a broker only if make's command line names it. A broker that only the environment names stays untouched.
test-kafka: ## the whole-system tests on a real broker: KAFKA_BOOTSTRAP_SERVERS=host:port
	@scripts/test-kafka.sh "$(if $(findstring command,$(origin KAFKA_BOOTSTRAP_SERVERS)),$(KAFKA_BOOTSTRAP_SERVERS))"

check: test ## the same as test

format: ## lay out all Swift files as the checks want them
	@swift format --in-place --parallel --recursive Sources Tests Plugins Benchmarks Fuzzing

release: ## build what is shipped into .build/shipped/release
	@scripts/release.sh

package: ## a .deb and a tarball in dist, tried in a Debian without Swift
	@scripts/package.sh
	@scripts/check-package.sh --installed dist

bench: ## measure speed, processor time and memory
	@scripts/bench.sh

bench-parts: ## compare the cost of our HTTP client, JSON reader and base64 with the cost of the libraries that they replace
	@scripts/bench-parts.sh

chaos: ## minutes of faults over a running load, judged from outside
	@scripts/chaos.sh

chaos-faults: ## plant known bugs in the worker: the judge of make chaos must find each
	@scripts/chaos.sh --planted

histories: ## play random histories and judge them by the contract: COUNT=100 SEED=n WIDTH=40
	@scripts/histories.sh $(if $(COUNT),--count $(COUNT)) $(if $(SEED),--seed $(SEED)) $(if $(WIDTH),--width $(WIDTH))

fuzz: ## try the parsers with hostile bytes, a minute each
	@scripts/fuzz.sh

tsan: ## the tests under the thread sanitizer, in a build of its own
	@scripts/sanitize.sh thread

asan: ## the tests under the address sanitizer, in a build of its own
	@scripts/sanitize.sh address

clean: ## remove everything that was built
	@rm -rf .build .build-* dist Benchmarks/Parts/.build
