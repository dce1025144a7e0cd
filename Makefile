# Each target first makes .venv and installs into it when pyproject.toml is newer than the last installation.
#   make demo               live queries over generated traffic, in the terminal
#   make test               check, then all tests
#   make check              ruff and mypy
#   make bench              all benchmarks, or some: BENCHMARKS=planning
#   make soak SECONDS=600   property tests with fresh examples, for as long as you say
# PYTHON=… names the Python to build .venv with.

PYTHON ?=
BIN := .venv/bin
INSTALLED := .venv/.installed
BENCHMARKS ?= $(patsubst benchmarks/%.py,%,$(filter-out benchmarks/__%,$(wildcard benchmarks/*.py)))

.DELETE_ON_ERROR:
.PHONY: demo test check bench soak java

demo: SECONDS ?= 40
demo: java
	@$(BIN)/panes demo --seconds $(SECONDS)

test: check java
	$(BIN)/python -m pytest

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: java
	@set -e; for name in $(BENCHMARKS); do echo "$$name"; $(BIN)/python -m benchmarks.$$name; done

soak: SECONDS ?= 600
soak: java
	PANES_SOAK_SECONDS=$(SECONDS) $(BIN)/python -m pytest tests/properties

java: $(INSTALLED)
	@$(BIN)/python .ci/install_java.py

$(INSTALLED): pyproject.toml
	@python="$$(.ci/python '$(PYTHON)')" && "$$python" -m venv .venv
	@echo "Installing Panes and what it needs into .venv (once; a minute or two)"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@
