# droculo: `make run` plays the quickstart, `make test` checks everything. Both set up their own environment.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
READY  := $(VENV)/.ready
JOBS   ?= 2

.PHONY: run test gallery bench docs lint format clean help
.DEFAULT_GOAL := help

help:  ## list the commands
	@grep -E '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /make \1\t/'

$(READY): pyproject.toml
	$(PYTHON) -c 'import sys; sys.exit(0 if sys.version_info >= (3, 11) else "droculo needs Python 3.11 or newer; got " + sys.version.split()[0] + ". Pass another with: make PYTHON=python3.12")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[dev]"
	touch $(READY)

run: $(READY)  ## play one problem with each feedback model and print a table
	$(BIN)/python examples/quickstart.py

test: lint  ## lint, type-check and run all tests
	$(BIN)/python -m pytest -n $(JOBS)

gallery: $(READY)  ## run every application and write its page and picture to docs/applications
	$(BIN)/python -m droculo.gallery

bench: $(READY)  ## measure every speed and cost that the docs claim, hold it to its target, write docs/results/performance.md
	$(BIN)/python benchmarks/bench.py --out docs/results

docs: $(READY)  ## build the documentation site to build/site
	@$(BIN)/python -c 'import material, mkdocstrings, latex2mathml' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check -e ".[docs]"
	$(BIN)/python docs/site/generate.py
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

lint: $(READY)  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(READY)  ## let ruff rewrite the sources
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:  ## remove the environment and caches
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
