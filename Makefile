# Every task of this repository. `make help` lists them; nothing here needs more than Python 3.11 and make.

PYTHON  ?= python3
ARGS    ?=
SECONDS ?= 600
SEEDS   ?= 100
# Tests run beside each other, a file at a time; most of them wait for real processes, so there are more than processors.
WORKERS ?= 4
PYTEST   = $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile

VENV := .venv
BIN  := $(VENV)/bin
PIP  := $(BIN)/python -m pip --disable-pip-version-check -q install -c constraints.txt

# A stamp is newer than the files that decide what is installed, so that a second `make up` installs nothing.
RUN_STAMP := $(VENV)/.installed-run
DEV_STAMP := $(VENV)/.installed-dev

.DEFAULT_GOAL := help
.PHONY: help install up unit test check bench verify fuzz sim mutants tools clean

help: ## List these targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 18

install: $(RUN_STAMP) ## Prepare .venv with what the queue needs to run, and no more

up: $(RUN_STAMP) ## Run the queue on this machine; more options: make up ARGS="--port 9192"
	@exec $(BIN)/headrace up $(ARGS)

unit: $(DEV_STAMP) ## The tests that need no process, no network and no disk, in less than two minutes
	@$(PYTEST) -m "not long" tests/unit tests/golden $(ARGS)

test: $(DEV_STAMP) tools ## Unit, golden and integration tests, with six real client libraries
	@$(PYTEST) -m "not long" $(ARGS)

check: $(DEV_STAMP) ## Lint, format, types and import layers
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache

bench: $(DEV_STAMP) tools ## Headrace and Apache Kafka side by side on this machine
	@$(BIN)/python -m bench $(ARGS)

verify: $(DEV_STAMP) tools ## Everything, up to three hours, with a summary; one part: make verify ARGS=chaos
	@$(BIN)/python tools/verify.py $(ARGS)

fuzz: $(DEV_STAMP) ## Random bytes against the frame and message decoders for SECONDS=600
	@$(BIN)/python tests/fuzz/fuzz_wire.py $(SECONDS) $(ARGS)

sim: $(DEV_STAMP) ## Storms over the real broker on virtual time: SEEDS=1000, or one with its story: SEED=123
	@$(BIN)/python -m tests.sim $(if $(SEED),--seed $(SEED),--seeds $(SEEDS)) $(if $(SCENARIO),--scenario $(SCENARIO)) \
	  $(if $(BROKERS),--brokers $(BROKERS)) $(ARGS)

mutants: $(DEV_STAMP) ## Each rule taken away until a storm notices: ARGS="NAME --storms 50", "--part 1/4", "--list"
	@$(BIN)/python -m tests.sim.mutants $(ARGS)

tools: $(DEV_STAMP) # kcat, Java, Maven, Go and Rust, and the client programs the tests drive
	@$(BIN)/python tools/ensure_tools.py

clean: ## Remove .venv, caches and build output; data/ stays
	rm -rf $(VENV) build dist bench/out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
	find src tests tools bench -name __pycache__ -type d -prune -exec rm -rf {} +
	rm -rf src/*.egg-info

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { \
	  echo "Headrace needs Python 3.11 or newer; $(PYTHON) is $$($(PYTHON) -V 2>&1). Fix: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@$(PYTHON) -m venv $(VENV) || { \
	  rm -rf $(VENV); echo "$(PYTHON) cannot make a virtual environment. Fix: apt-get install python3-venv" >&2; exit 1; }

$(RUN_STAMP): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Headrace into $(VENV) (once)"
	@$(PIP) -e '.[gateway,secure]'
	@touch $@

$(DEV_STAMP): pyproject.toml constraints.txt | $(BIN)/python
	@echo "Installing Headrace and its development tools into $(VENV) (once)"
	@$(PIP) -e '.[gateway,secure,traces,etcd,spark,dev]'
	@touch $(RUN_STAMP) $@
