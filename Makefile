# One door for people and for CI. `make` alone lists what there is.
VENV ?= .venv
PYTHON ?= python3
OUT ?= demo
PYTEST_ARGS ?=

BIN := $(VENV)/bin
STAMP := $(VENV)/.nadirfix-installed
PAGE := src/nadirfix/serve/page/index.html
NPM := npm --prefix web --loglevel=error
# Tests start hundreds of processes: libraries compiled once, beside the environment, load in a third of the time.
unexport PYTHONDONTWRITEBYTECODE
PYTHONPYCACHEPREFIX ?= $(abspath $(VENV))/bytecode
export PYTHONPYCACHEPREFIX

.DEFAULT_GOAL := help
.PHONY: help setup page dist demo figures picture check lint types contract test core long audit bench clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-7s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) $(PAGE) ## Make the virtual environment, install everything pinned, build the page

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --no-compile --disable-pip-version-check -c constraints.txt -e '.[train,verify,parquet,dev]'
	touch $@

page: ## Build the web page (Node 20.19 or newer)
	$(NPM) ci
	$(NPM) run build

# The page is for those who want it: without Node, or without a way to its libraries, all else still works.
$(PAGE): $(shell find web -name node_modules -prune -o -type f -print)
	@if ! command -v npm >/dev/null; then echo "no Node: the page is not built, the service runs without it"; \
	elif ! $(MAKE) page; then echo "the page could not be built (see above), the service runs without it"; fi

dist: page ## The wheel and the source distribution, the page inside, into dist/
	$(PYTHON) -m venv build/venv
	build/venv/bin/python -m pip install --quiet --disable-pip-version-check 'hatchling>=1.27'
	build/venv/bin/python -m hatchling build -d dist

demo: setup ## The whole story: a world, photos, a bundle, and a report of how well they fit
	$(BIN)/nadirfix demo --out $(OUT)

figures: setup ## Run the demo and put its figures into the README
	$(BIN)/nadirfix demo --out $(OUT) --write-readme README.md

picture: demo ## Renew the README's picture from the demo
	$(BIN)/python -c "from PIL import Image; sheet = Image.open('$(OUT)/contact.png'); \
	  sheet.thumbnail((1300, 1300)); sheet.save('docs/images/contact.jpg', quality=75, optimize=True)"

check: types lint contract ## Lint, formatting, types and contract tests

types: setup
	$(BIN)/mypy --strict src

lint: setup
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	if [ -d web/node_modules ]; then $(NPM) run check; fi

contract: setup
	$(BIN)/python -m pytest -n 2 --dist worksteal tests/contract -m 'not slow' $(PYTEST_ARGS)

test: setup ## The tests, on two cores
	if [ -d web/node_modules ]; then $(NPM) test; fi
	$(BIN)/python -m pytest -n 2 --dist worksteal -m 'not long' $(PYTEST_ARGS)

core: setup ## The wheel installed alone, without torch or an index, and the README's example run with it
	$(BIN)/python -m pytest -n 0 -m long tests/online/test_locate.py $(PYTEST_ARGS)

long: setup ## The rest: networks that learn, every document run, an install from nothing
	$(BIN)/python -m pytest -n 2 --dist worksteal -m long $(PYTEST_ARGS)

audit: setup ## Ask whether weaknesses of the libraries we use are known (needs the network)
	test -x $(VENV)/audit/bin/pip-audit || ($(PYTHON) -m venv $(VENV)/audit && \
	  $(VENV)/audit/bin/python -m pip install --quiet --disable-pip-version-check pip-audit)
	$(VENV)/audit/bin/pip-audit --path $$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') --skip-editable --strict
	npm --prefix web audit --omit=dev

bench: setup ## Every benchmark that needs nothing given; results go to bench/results
	$(BIN)/python -m bench.run

clean: ## Remove the demo, builds and caches (the environment stays)
	rm -rf $(OUT) build dist $(dir $(PAGE)) .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
