# Shortcuts; the README's commands need no make.
.PHONY: setup test test-heavy fuzz lint types generated docs bench bench-quick bench-compile report-picture ci

VENV ?= .venv

setup: $(VENV)/bin/gradc
$(VENV)/bin/gradc:
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install -q -e '.[dev]'

test: setup
	$(VENV)/bin/pytest -n auto --dist loadgroup

# All cases of sweeps, and what takes minutes or gigabytes; CI runs slices of both. tests/README.md explains them.
test-heavy: setup
	$(VENV)/bin/pytest -n auto --dist loadgroup --whole -m 'heavy or sweep' tests

# As long as you like: make fuzz SECONDS=600 SEED=1 TARGET=json; see tests/fuzz/README.md.
SECONDS ?= 120
TARGET ?= all
fuzz: setup
	$(VENV)/bin/python tests/fuzz --target $(TARGET) --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(FUZZ)

lint: setup
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check dialects passes gradc tools tests examples benchmarks docs setup.py

types: setup
	$(VENV)/bin/basedpyright

# Files that are made from code or from the installed runtime, and checked in.
generated: setup
	$(VENV)/bin/python -m dialects.onnx.schema
	$(VENV)/bin/python -m dialects.onednn.stubs
	$(VENV)/bin/python -m tools.documents.spec_methods
	$(VENV)/bin/python -m tools.kernel_registry > passes/kernel_tables/cpu.json.new
	mv passes/kernel_tables/cpu.json.new passes/kernel_tables/cpu.json
	$(VENV)/bin/python -m tools.documents

# build/docs/index.html
docs: setup
	$(VENV)/bin/pip install -q -e '.[docs]'
	$(VENV)/bin/sphinx-build -W --keep-going -n -q -b html docs build/docs

# The picture of a report in the README; wants Chromium, chromedriver and `pip install -e '.[report,web]'`.
report-picture: setup
	$(VENV)/bin/python tests/e2e/report_screenshot.py docs/report.png

# Against what `pip install -e '.[peers]'` brings; bench takes some ten minutes.
bench: setup
	mkdir -p build
	$(VENV)/bin/gradc bench --suite full --json build/bench.json --plot build/bench.svg

bench-quick: setup
	$(VENV)/bin/gradc bench --suite quick

# How long gradc itself takes, for 1, 100 and 1,000 ops.
bench-compile: setup
	$(VENV)/bin/python benchmarks/compile_time.py --json docs/speed/compile-time.json

ci:
	bash .ci/run
