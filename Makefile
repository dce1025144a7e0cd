# Each target first makes .venv and installs into it when pyproject.toml is newer than the last installation.
#   make demo               live queries over generated traffic, in the terminal
#   make test               check, then all tests
#   make check              ruff and mypy
#   make bench              six workloads, Panes beside other engines, and the tables of docs/benchmarks.md
#   make bench-peers        the same with Flink and Pathway, each in an environment of its own
#   make soak SECONDS=600   property tests with fresh examples, for as long as you say
# PYTHON=… names the Python to build .venv with.

PYTHON ?=
BIN := .venv/bin
INSTALLED := .venv/.installed

.DELETE_ON_ERROR:
.PHONY: demo test check bench bench-peers soak java

demo: SECONDS ?= 40
demo: java
	@$(BIN)/panes demo --seconds $(SECONDS)

# Python compiles each module once, whatever the environment says: tests start it dozens of times.
test: export PYTHONDONTWRITEBYTECODE =
test: check java
	$(BIN)/python -m pytest -n auto --dist worksteal

check: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

bench: java
	@$(BIN)/panes bench
	@$(BIN)/python -m benchmarks.report

bench-peers: java
	@$(BIN)/panes bench --engines panes,spark,floor,flink,pathway,duckdb,polars
	@$(BIN)/python -m benchmarks.report

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
