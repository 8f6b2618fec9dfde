# Everything that a fresh machine needs, given Python 3.11 or later and make.

PYTHON ?= python3

VENV := .venv
BIN := $(VENV)/bin
NOTEBOOK := notebooks/E2E_Timeline.ipynb
REPORTS := notebooks/demo-reports
PAGE := E2E_Timeline.html

SOURCES := $(shell find rlviz -name '*.py' -o -name '*.js' -o -name '*.css' -o -name '*.toml')
SIMULATION := $(shell find rlviz/demo -name '*.py' -o -name '*.sql')

.DELETE_ON_ERROR:
.PHONY: help notebook demo executed docs pictures test browser

help:
	@echo 'make notebook   install, simulate a run, open its timeline in JupyterLab'
	@echo 'make demo       install, simulate a run, write its timeline to $(PAGE)'
	@echo 'make executed   run the notebook on a simulated run, and keep its outputs'
	@echo 'make docs       build the documentation: site/index.html'
	@echo 'make pictures   draw the pictures of the documentation again'
	@echo 'make test       install, check style and types, build the documentation, run all tests'

notebook: $(VENV)/.lab $(REPORTS)/truth.json
	$(BIN)/jupyter lab $(shell [ "$$(id -u)" = 0 ] && echo --allow-root) $(NOTEBOOK)

demo: $(PAGE)
	@echo 'The simulated reports are in $(REPORTS); open $(PAGE) in a browser.'

# What the notebook shows to readers without a kernel, such as on GitHub.
executed: $(VENV)/.lab
	$(BIN)/python notebooks/execute.py

# Any warning is an error: a link that leads nowhere, a page that no menu shows.
docs: $(VENV)/.test
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs --quiet build --strict

pictures: $(VENV)/.test browser
	$(BIN)/python docs/make_pictures.py

# The browser's tests come last and one at a time: they measure what the eye sees, so they need the
# machine for themselves.
test: $(VENV)/.test browser
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(MAKE) docs
	$(BIN)/pytest -m 'not browser' --numprocesses auto --maxprocesses 8
	$(BIN)/pytest -m browser tests/browser

$(PAGE): $(REPORTS)/truth.json $(SOURCES)
	$(BIN)/rlviz export $(REPORTS) --output $@

# The simulation writes truth.json last.
$(REPORTS)/truth.json: $(SIMULATION) | $(VENV)/.lab
	$(BIN)/rlviz demo $(REPORTS)

# One installation after the other: two at once in one environment get in each other's way.
$(VENV)/.test: pyproject.toml $(VENV)/.lab
	@echo 'Installing what the tests need.'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,docs]'
	@touch $@

$(VENV)/.lab: pyproject.toml $(VENV)/.python
	@echo 'Installing rlviz and JupyterLab in $(VENV): a minute or two.'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[lab]'
	@touch $@

$(VENV)/.python:
	@command -v $(PYTHON) > /dev/null || \
	  { echo 'There is no $(PYTHON) here: install Python 3.11 or later.' >&2; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "rlviz needs Python 3.11 or later, $(PYTHON) is $$($(PYTHON) -V 2>&1);" \
	  'name another one: make PYTHON=python3.12 ...' >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)
	@touch $@

# Only Debian has a Chromium of its own in a package of that name; Ubuntu's installs a snap.
browser:
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do \
	  command -v $$name > /dev/null && exit 0; \
	done; \
	if [ "$$(id -u)" = 0 ] && grep -qs '^ID=debian' /etc/os-release; then \
	  echo "Installing Debian's chromium for the browser tests."; \
	  apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
	    apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core > /dev/null; \
	else \
	  echo 'Browser tests are skipped: install Chromium or Chrome (Debian: apt install chromium).'; \
	fi
