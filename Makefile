# make run   sets everything up and opens the lab
# make check sets everything up and runs the linters, the type checker and all tests except the browser tests
# make test  runs make check and the browser tests in Chromium
# make site  writes the static site to site/, in which the model runs in the browser
# make long  runs the tests that train models, or repeat a check over many more inputs
# make numeric runs the tests of the model without vector instructions, like a different processor
# make fuzz  draws random texts, files, links and requests, a hundred times as many as the tests; FUZZ="-k links" chooses
PYTHON ?= python3
VENV := .venv
PIP := $(VENV)/bin/python -m pip --disable-pip-version-check
# Each module is compiled once, also where PYTHONDONTWRITEBYTECODE is set: importing torch and Streamlit then takes 3 s, not 9 s.
unexport PYTHONDONTWRITEBYTECODE
export PYTHONPYCACHEPREFIX := $(CURDIR)/$(VENV)/pycache

.PHONY: run site check unit long numeric test browser-tests lint types api chromium browser fuzz screenshots
run: $(VENV)/.run
	$(VENV)/bin/python -m viz.server

site: $(VENV)/.dev
	rm -rf site
	$(VENV)/bin/python -m model site --out site --reference
	$(VENV)/bin/python -m docs.reference site/api

check: lint types unit

unit: $(VENV)/.dev
	$(VENV)/bin/python -m pytest -n 2 --dist worksteal --ignore tests/browser

# Runs the tests that the others leave out: 10 minutes.
long: browser
	$(VENV)/bin/python -m pytest -n 2 --dist worksteal -m long

numeric: $(VENV)/.dev
	ATEN_CPU_CAPABILITY=default ONEDNN_MAX_CPU_ISA=SSE41 $(VENV)/bin/python -m pytest -n 2 --dist worksteal tests/model

browser-tests: browser
	$(VENV)/bin/python -m pytest -n 3 --dist worksteal tests/browser

# A failed part of a stage ends the run after the other parts of the stage.
test:
	$(MAKE) --jobs=2 chromium $(VENV)/.dev
	$(MAKE) --jobs=2 unit lint types
	$(MAKE) browser-tests

lint: $(VENV)/.dev
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/oxlint --deny-warnings viz tests

# Checks the types of the public names: 25 s the first time, 1 s after it.
types: $(VENV)/.dev
	$(VENV)/bin/mypy

# Writes the reference of the Python API to docs/api/index.html.
api: $(VENV)/.dev
	$(VENV)/bin/python -m docs.reference docs/api

# Installs the system's Chromium if there is one. `browser` downloads that of Playwright otherwise.
chromium:
	sh tests/browser/install.sh

browser: $(VENV)/.dev
	sh tests/browser/install.sh $(VENV)/bin/python

fuzz: $(VENV)/.dev
	HYPOTHESIS_PROFILE=fuzz $(VENV)/bin/python -m pytest tests/fuzz $(FUZZ)

screenshots: browser
	$(VENV)/bin/python -m tests.browser.screenshots docs
	$(VENV)/bin/python -m tests.browser.notebook_picture docs/notebook.png

$(VENV)/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "You need Python 3.11 or later. PYTHON=... chooses an interpreter." >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.run: requirements.txt | $(VENV)/bin/python
	$(PIP) install --quiet --no-compile -r requirements.txt
	@touch $@

$(VENV)/.dev: requirements-dev.txt $(VENV)/.run
	$(PIP) install --quiet --no-compile -r requirements-dev.txt
	@touch $@
