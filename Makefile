# Two commands on a fresh machine: `make train` and `make test`. Both create the environment if need be.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Newer than pyproject.toml: the environment is complete and nothing has to be installed.
STAMP := $(VENV)/.installed

.PHONY: help env train test test-slow check format clean

help:
	@echo "make env        create $(VENV), about 1.9 GB, and install the project with its development tools"
	@echo "make train      run the default training; options: make train ARGS='game=tic_tac_toe minutes=3'"
	@echo "make test       formatter, linter, import rules, types and tests, exactly what CI runs"
	@echo "make test-slow  the tests that take minutes"
	@echo "make format     rewrite the sources with the formatter"
	@echo "make clean      remove caches and build outputs; runs/ and $(VENV) stay"

env: $(STAMP)

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; v = sys.version_info; ok = v >= (3, 11); ok or print(f"$(PYTHON) is Python {v[0]}.{v[1]}; 3.11 or newer is needed: make env PYTHON=/path/to/python3.11", file=sys.stderr); sys.exit(not ok)'
	@$(BIN)/python -m pip --version > /dev/null 2>&1 || $(PYTHON) -m venv --clear $(VENV)
	@echo "installing into $(VENV): about 1.9 GB (more with torch's CUDA build); the first time this takes minutes, without a word"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@echo "compiling the kernels of rules and searches once, so that no engine's first move has to wait"
	@$(BIN)/alphago bench game=go_5x5 network=tiny actors=1 seconds=0.01 > /dev/null
	@touch $@

train: env
	$(BIN)/alphago train $(ARGS)

check: env
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/lint-imports --no-logo
	$(BIN)/mypy

test: check
	$(BIN)/python -m pytest $(ARGS)

test-slow: env
	$(BIN)/python -m pytest -m slow $(ARGS)

format: env
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf build dist *.egg-info .mypy_cache .ruff_cache .pytest_cache .import_linter_cache
	find . -path ./$(VENV) -prune -o -name __pycache__ -type d -print | xargs rm -rf
