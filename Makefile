# Everything a newcomer needs: `make demo` and `make test`. `make` alone prints this help.
SHELL := /bin/bash
.DEFAULT_GOAL := help

PYTHON ?= $(shell for p in python3 python3.11 python3.12 python3.13; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && echo $$p && break; done)
VENV := .venv
BIN := $(VENV)/bin
# A CPU build of torch takes triton 3.9; a CUDA build pins its own: the second file is tried when the first does not fit.
CONSTRAINTS ?= constraints/cpu.txt
FALLBACK_CONSTRAINTS := constraints/cuda.txt
# Errors only: with one -q, pip repeats setuptools' warnings about editable installs.
QUIET := -q -q
PYTEST_ARGS ?=

.PHONY: help
help: ## Print this help
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

$(VENV)/.installed: pyproject.toml $(wildcard constraints/*.txt)
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer with venv is needed (Debian: apt-get install python3-venv)"; exit 1; }
	@echo "Making $(VENV) and installing into it, once and without a word: torch alone is 200 MB, with CUDA some GB ..."
	@test -x $(BIN)/pip || $(PYTHON) -m venv $(VENV)  # pip comes last: without it an earlier try broke off.
	@$(BIN)/python -m pip install $(QUIET) --upgrade 'pip>=25.1'
	@$(BIN)/python -m pip install $(QUIET) -c $(CONSTRAINTS) -e '.[server,worker]' --group dev \
	|| { echo "The versions of $(CONSTRAINTS) do not fit (see above); trying those of $(FALLBACK_CONSTRAINTS) ..."; \
	$(BIN)/python -m pip install $(QUIET) -c $(FALLBACK_CONSTRAINTS) -e '.[server,worker]' --group dev; }
	@touch $@

.PHONY: venv
venv: $(VENV)/.installed ## Create .venv and install everything into it

.PHONY: demo
demo: venv ## Set up all, grade real submissions, serve the site (DEMO_EXIT=1: stop at the end)
	@$(BIN)/solmark-server demo || { code=$$?; test $$code = 130 || exit $$code; }  # 130: stopped by Ctrl-C

.PHONY: test
test: venv ## Run the tests (of hostile programs a selection); ends in pytest's summary
	@$(BIN)/python -m pytest $(PYTEST_ARGS)

.PHONY: attacks
attacks: venv ## Try every cheat of tests/attacks against the judge
	@$(BIN)/python -m tests.attacks $(ARGS)

.PHONY: hostile
hostile: venv ## Run every hostile program in every sandbox here, print a table, write benchmarks/results/hostile.json
	@$(BIN)/python -m benchmarks.hostile $(ARGS)

.PHONY: fuzz
fuzz: venv ## Fuzz the message parser and the unpacker with N examples, drawn anew
	@FUZZ_EXAMPLES=$(or $(N),20000) $(BIN)/python -m pytest tests/fuzz $(PYTEST_ARGS)

.PHONY: images
images: venv ## Build every container image, on a base made of Debian's packages, and test what each does
	@docker/engine.sh && docker/images.sh && $(BIN)/python -m pytest tests/images $(PYTEST_ARGS)

.PHONY: rehearse
rehearse: venv ## Bring up docker-compose.yml for real, hand in a solution, take it down
	@docker/engine.sh && docker/rehearse.sh

.PHONY: chaos
chaos: venv ## Kill everything while students hand in: N submissions or more, SEED drawn anew if not given
	@$(BIN)/python -m tests.chaos --submissions $(or $(N),200) $(if $(SEED),--seed $(SEED))

.PHONY: check
check: venv ## Hold every assignment against all of its solutions, right and wrong
	@$(BIN)/solmark check --all

.PHONY: lint
lint: venv ## Format and check style, types and import rules
	@$(BIN)/ruff format . && $(BIN)/ruff check --fix . && $(BIN)/mypy && $(BIN)/lint-imports

.PHONY: calibrate
calibrate: venv ## Measure this machine's ceilings and the judge's constant
	@$(BIN)/solmark calibrate

.PHONY: doctor
doctor: venv ## Say what this machine can enforce, and what to do
	@$(BIN)/solmark doctor

.PHONY: clean
clean: ## Remove the environment, caches and the demo's state
	rm -rf $(VENV) var .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist *.egg-info
