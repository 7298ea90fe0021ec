# Everything runs in one virtual environment, made on first use.
PYTHON ?= $(shell python3 .ci/python.py)
VENV ?= .venv
DIST ?= dist
ifeq ($(OS),Windows_NT)
BIN := $(VENV)/Scripts
else
BIN := $(VENV)/bin
endif
INSTALL := $(BIN)/python .ci/install.py
KERNELS := $(wildcard src/calibrant/*/*/*.pyx src/calibrant/*/*/*.pxd src/calibrant/*/*/*.h)
BUILT := $(VENV)/pyvenv.cfg pyproject.toml setup.py $(KERNELS)
# The inner loop: laws and twins of every measure on hard labels and compiled sums, and house rules.
QUICK := -k "not soft and not numpy" tests/house/test_house.py tests/house/test_project_files.py \
	tests/laws/test_catalogue_laws.py tests/oracles/test_twins.py

# Whoever sets it has every module compiled, and every assertion rewritten, in each process anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo quick lint types suite test long docs bench dist pure clean

$(VENV)/pyvenv.cfg:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip 'uv>=0.8'

$(VENV)/.demo: $(BUILT)
	$(INSTALL) --editable '.[cli,report]'
	touch $@

$(VENV)/.docs: $(BUILT)
	$(INSTALL) --editable '.[docs]'
	touch $@

$(VENV)/.test: $(BUILT)
	$(INSTALL) --editable '.[test]'
	touch $@ $(VENV)/.demo $(VENV)/.docs $(VENV)/.dist

demo: $(VENV)/.demo
	$(BIN)/calibrant demo

lint: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/lint-imports

quick: lint
	$(BIN)/python -m pytest -n 2 -q $(QUICK) $(PYTEST_ARGS)

types: $(VENV)/.test
	$(BIN)/mypy

suite: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist loadgroup $(PYTEST_ARGS)

# Side by side: while tests are collected, and at their end, a core would be idle.
test: lint
	$(MAKE) --no-print-directory --jobs 2 types suite

# Coverage, power and other proofs by many samples, of which `make test` has a short form each.
long: $(VENV)/.test
	$(BIN)/python -m pytest -n 2 --dist loadgroup -q tests/long $(PYTEST_ARGS)

docs: $(VENV)/.docs
	NO_MKDOCS_2_WARNING=1 DISABLE_MKDOCS_2_WARNING=true $(BIN)/mkdocs build --strict
	@echo "Open build/site/index.html"

bench: $(VENV)/.test
	$(BIN)/python benchmarks/run.py

$(VENV)/.dist: $(VENV)/pyvenv.cfg
	$(INSTALL) 'build>=1.2'
	touch $@

dist: $(VENV)/.dist
	$(BIN)/python -m build --outdir $(DIST) .

# Without kernels, for systems that have no other wheel and no compiler.
pure: $(VENV)/.dist
	CALIBRANT_NO_NATIVE=1 $(BIN)/python -m build --wheel --outdir $(DIST) .

clean:
	rm -rf $(VENV) $(DIST) build src/*.egg-info $(wildcard $(foreach end,c so pyd,src/calibrant/*/*.$(end) src/calibrant/*/*/*.$(end)))
