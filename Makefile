# One door for people and for CI. `make` alone lists what there is.
VENV ?= .venv
PYTHON ?= python3
OUT ?= demo
PYTEST_ARGS ?=

BIN := $(VENV)/bin
STAMP := $(VENV)/.nadirfix-installed
BENCHES := $(filter-out bench/record.py,$(wildcard bench/*.py))

.DEFAULT_GOAL := help
.PHONY: help setup demo figures picture check test bench clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z]+:.*## /{printf "make %-7s %s\n", $$1, $$2}' $(firstword $(MAKEFILE_LIST))

setup: $(STAMP) ## Make the virtual environment and install everything pinned

$(STAMP): pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[train,verify,serve,dev]'
	touch $@

demo: setup ## The whole story: a world, photos, a bundle, and a report of how well they fit
	$(BIN)/nadirfix demo --out $(OUT)

figures: setup ## Run the demo and put its figures into the README
	$(BIN)/nadirfix demo --out $(OUT) --write-readme README.md

picture: demo ## Renew the README's picture from the demo
	$(BIN)/python -c "from PIL import Image; sheet = Image.open('$(OUT)/contact.png'); \
	  sheet.thumbnail((1300, 1300)); sheet.save('docs/images/contact.jpg', quality=75, optimize=True)"

check: setup ## Lint, formatting, types and contract tests
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy --strict src
	$(BIN)/python -m pytest tests/contract -m 'not slow' $(PYTEST_ARGS)

test: setup ## Every test, on two cores
	$(BIN)/python -m pytest -n 2 --dist worksteal $(PYTEST_ARGS)

bench: setup ## Every benchmark; results go to bench/results
	set -e; for file in $(BENCHES); do echo "== $$file"; $(BIN)/python $$file; done

clean: ## Remove the demo, builds and caches (the environment stays)
	rm -rf $(OUT) build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests bench -name __pycache__ -type d -prune -exec rm -rf {} +
