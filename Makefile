# droculo: `make run` runs the showcase, `make test` checks everything. Both set up their own environment.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
TOOLS  := $(VENV)/.tools
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-compile  # what is used compiles itself
JOBS   ?= 2
LINT   := $(BIN)/ruff check . && $(BIN)/ruff format --check . && $(BIN)/mypy

# What `make check` runs besides lint and types: imports, docs that name things, identities, one algorithm, one set, networks.
SMOKE  := tests/test_house.py tests/engine tests/networks/test_errors.py \
          tests/algorithms/test_contract.py tests/sets/test_contract.py
CHOSEN := imports or surface or drawing or words or version or fingerprint or errors or concave-full_information or budget

# Python keeps what it has compiled of the packages, whatever the environment says: they were installed without.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: run check test test-isa gallery bench docs dist lint format clean help
.DEFAULT_GOAL := help

help:  ## list the commands
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## /make \1\t/'

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "droculo needs Python 3.11 or newer; got " + sys.version.split()[0] + ". Pass another with: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(PIP) -e ".[sweeps]"
	touch $(READY)

$(TOOLS): $(READY)
	$(PIP) -e ".[dev]"
	touch $(TOOLS)

run: $(READY)  ## run the showcase: a table, and a page to look at (results/showcase/report.html)
	$(BIN)/droculo --cache run

check: lint  ## lint, types and a smoke test: the inner loop, under a minute
	$(BIN)/python -m pytest -n 0 $(SMOKE) -k "$(CHOSEN)"

test: $(TOOLS)  ## run all tests, and lint and type-check beside them
	@mkdir -p build; ($(LINT)) > build/lint.txt 2>&1 & lint=$$!; \
	$(BIN)/python -m pytest -n $(JOBS); tests=$$?; \
	wait $$lint; sources=$$?; cat build/lint.txt; exit $$((tests + sources))

test-isa: $(TOOLS)  ## run the numeric tests with an older processor's instructions (x86)
	$(BIN)/python -m tests.another_processor

gallery: $(READY)  ## run every application and write its page and picture to docs/applications
	$(BIN)/python -m droculo.gallery

bench: $(TOOLS)  ## measure every speed and cost that the docs claim, hold it to its target, write docs/results/performance.md
	$(BIN)/python benchmarks/bench.py --out docs/results

docs: $(TOOLS)  ## build the documentation site to build/site
	$(BIN)/python docs/site/generate.py
	$(BIN)/python docs/site/architecture.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

dist: $(TOOLS)  ## build wheel and source archive, install the wheel into an empty environment and try it
	$(BIN)/python .ci/dist.py

lint: $(TOOLS)  ## ruff and mypy
	$(LINT)

format: $(TOOLS)  ## let ruff rewrite the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove the environment and caches
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
