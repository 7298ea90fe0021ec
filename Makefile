# Everything runs in one virtual environment, made on first use.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
KERNELS := $(wildcard src/calibrant/_engines/arrays/*.pyx src/calibrant/_engines/arrays/*.h)

.PHONY: demo test docs bench clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

$(VENV)/.demo: $(BIN)/python pyproject.toml setup.py $(KERNELS)
	$(BIN)/python -m pip install --quiet --editable '.[cli,report]'
	touch $@

$(VENV)/.test: $(BIN)/python pyproject.toml setup.py $(KERNELS)
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@ $(VENV)/.demo

demo: $(VENV)/.demo
	$(BIN)/calibrant demo

test: $(VENV)/.test
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -n 2 $(PYTEST_ARGS)

docs: $(VENV)/.test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict
	@echo "Open build/site/index.html"

bench: $(VENV)/.test
	$(BIN)/python benchmarks/run.py

clean:
	rm -rf $(VENV) build src/*.egg-info src/calibrant/_engines/arrays/*.c src/calibrant/_engines/arrays/*.so
