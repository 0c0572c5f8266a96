# Every verb of the project. `make run` and `make test` set up what they need in .venv first.
.DEFAULT_GOAL := help
.PHONY: help run test collected quick wheel site fixtures bench bench-quick soak scan check format clean

PYTHON := $(shell sh tools/find_python.sh)
BIN := .venv/bin

# Hundreds of processes start in the tests: without bytecode each compiles 450 files, half of its start.
export PYTHONDONTWRITEBYTECODE :=

# Runs on real disks sync thousands of times, and the tests are about what was synced and not about the device.
MEMORY := $(shell df -Pk /dev/shm 2>/dev/null | awk 'NR == 2 && $$4 > 4000000 {print "TMPDIR=/dev/shm"}')

help: ## list the verbs
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed 's/:.*## /\t/'

run: .venv/.run ## set up, then run the default scenario
	@$(BIN)/python run_cluster.py

test: .venv/.dev ## set up, then lint, type-check and run all tests on all cores
	@$(MAKE) --no-print-directory --jobs 2 .venv/.others check collected
	$(MEMORY) $(BIN)/python -m pytest -n logical --dist worksteal

# Both workers of the tests would compile all of them at once; an error shows again where the tests run.
collected: .venv/.dev
	@$(BIN)/python -m pytest --collect-only -qq > /dev/null 2>&1 || true

quick: .venv/.dev ## run the tests of what differs from the last commit, without the long ones
	$(MEMORY) $(BIN)/python -m tests.quick

check: .venv/.dev ## lint and type-check
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

wheel: .venv/.dev ## build the wheel in dist/; nothing is fetched for it
	$(BIN)/python -m hatchling build -t wheel

site: .venv/.docs ## make the site of the documents in site/; a link that leads nowhere ends it
	$(BIN)/python -m checker.coverage.catalogue > docs/rule-coverage.md
	$(BIN)/python -m cluster.authoring.policies_page > docs/scenarios-by-policy.md
	$(BIN)/python run_cluster.py docs study-keys > docs/study-keys.md
	$(BIN)/sphinx-build -q -W --keep-going -d site/.doctrees -c docs . site
	@echo "site/README.html"

fixtures: .venv/.dev ## fill the cases of the rules again, and make their archive in dist/
	$(BIN)/python -m tools.fixtures

bench: .venv/.dev .venv/.peers ## run the benchmarks, and write docs/performance.md; PEERS=PATH names an interpreter with the peers
	$(BIN)/python -m benchmarks $(if $(PEERS),--peers $(PEERS)) --out docs/performance.md

bench-quick: .venv/.dev .venv/.peers ## run the short benchmarks, those of seconds
	$(BIN)/python -m benchmarks --quick $(if $(PEERS),--peers $(PEERS))

soak: .venv/.dev ## run every scenario for two seeds, forks of every depth, all of the documents, fresh property examples, hostile files, earlier versions, 2,000 swarm seeds
	$(BIN)/python -m tests.soak

scan: .venv/.dev ## run the mutation scan of a week: 400 mutants in at most six hours, into docs/mutation-scan.md
	$(BIN)/python -m tools.mutation scan --sample 400 --budget-s 21600 --out docs/mutation-scan.md

format: .venv/.dev ## format the code
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean: ## remove environments, caches and runs
	rm -rf .venv .venv-3.* .venv-peers dist site runs .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/bin/python:
	@test -n "$(PYTHON)" || { python3 run_cluster.py --version; exit 6; }
	$(PYTHON) -m venv .venv

.venv/.run: requirements/run.txt .venv/bin/python
	@sh tools/install.sh requirements/run.txt
	@touch $@

# It has every package of requirements/run.txt, each in the same version.
.venv/.dev: requirements/dev.txt requirements/run.txt .venv/bin/python
	@sh tools/install.sh requirements/dev.txt
	@touch .venv/.run $@

.venv/.docs: requirements/docs.txt .venv/.run
	@sh tools/install.sh requirements/docs.txt
	@touch $@

.venv/.peers: requirements/run.txt requirements/peers.txt tools/peers.sh
	@$(if $(PEERS),,sh tools/peers.sh)
	@mkdir -p .venv && touch $@

# Environments of the other Python versions on this machine, for the test that all give one digest.
.venv/.others: requirements/run.txt tools/other_pythons.sh
	@sh tools/other_pythons.sh
	@mkdir -p .venv && touch $@
