# `make demo` and `make test` do all set-up themselves, in a fresh clone with Python 3.11 or newer.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.ready
WORKERS ?= 2

.PHONY: demo test check setup format benchmark clean
.DEFAULT_GOAL := test

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
		{ echo "matchdg needs Python 3.11 or newer; point PYTHON at one: make PYTHON=python3.11"; exit 2; }
	$(PYTHON) -m venv $(VENV) || { echo "no venv module: apt-get install python3-venv"; exit 2; }
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet torch torchvision
	$(BIN)/pip install --quiet --editable '.[dev]'
	@touch $(STAMP)

setup: $(STAMP)

demo: $(STAMP)
	$(BIN)/matchdg reproduce slab rotated_digits --budget quick --out demo

check: $(STAMP)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-cache

test: check
	OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --cov --cov-report=term --cov-fail-under=95

format: $(STAMP)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

benchmark: $(STAMP)
	$(BIN)/python benchmarks/start_up.py --out results/benchmarks/start_up.json
	$(BIN)/python benchmarks/step_overhead.py --out results/benchmarks/step_overhead.json
	$(BIN)/python benchmarks/match_update.py --large --out results/benchmarks/match_update.json
	$(BIN)/python benchmarks/one_to_one.py --out results/benchmarks/one_to_one.json
	$(BIN)/python benchmarks/matchdg_overhead.py --out results/benchmarks/matchdg_overhead.json
	$(BIN)/python benchmarks/image_inputs.py --out results/benchmarks/image_inputs.json

clean:
	rm -rf $(VENV) demo .mypy_cache .ruff_cache .pytest_cache .coverage*
