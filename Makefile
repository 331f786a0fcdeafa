# Every target works on a fresh Debian 12 machine as root with git, make, python3 and Go 1.24 or newer.
# check, unit, format, generate, docs and run need only python3 or uv, on any Linux or macOS, and no root.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
PYTHON := .venv/bin/python

.PHONY: help
help: ## Show this list
	@awk 'BEGIN {FS = ":.*## "} /^##@/ {printf "\n%s\n", substr($$0, 5)} /^[a-z-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ The two commands
.PHONY: demo demo-streams test
demo: bootstrap ## Start a cluster, install the operator, ingest real data, and check the result
	@PYTHONPATH=dev $(PYTHON) -m demo

demo-streams: bootstrap ## The same with a PostgreSQL that a table follows by Debezium and Kafka, within seconds
	@PYTHONPATH=dev $(PYTHON) -m demo.streams

test: bootstrap ## Run every check and test, with a cluster of its own, and count what passed and failed
	@$(PYTHON) dev/run_tests.py

.PHONY: test-all mutations test-faults test-upgrade fuzz
test-all: bootstrap ## Run everything in full: every example, moment, history of the model and fault; takes hours
	@HYPOTHESIS_PROFILE=default HUDI_JOBS_TRIALS=all MODEL_BUDGET=all MATRIX=all FUZZ_SECONDS=3600 $(PYTHON) dev/run_tests.py all
	@$(PYTHON) -m tests.mutations

mutations: python ## Change 60 statements, one at a time, and check that the pure tests still find what they found before
	@$(PYTHON) -m tests.mutations

fuzz: bootstrap ## Have a hostile tenant change everything at random for an hour of processor time, or FUZZ_SECONDS=n
	@FUZZ_SECONDS=$${FUZZ_SECONDS:-3600} $(PYTHON) -m pytest -q tests/fuzz

test-faults: bootstrap ## Kill the operator around every write, fail every call, kill drivers at every phase; FAULTS_SEED=n repeats
	@$(PYTHON) dev/run_tests.py faults

test-upgrade: bootstrap ## Upgrade the chart from the release before while Jobs, plans, failures and a deletion are under way
	@$(PYTHON) dev/run_tests.py upgrade

##@ Local cluster (CLUSTER=current uses the cluster that KUBECONFIG points to, CLUSTER=kind one of kind)
.PHONY: cluster-up cluster-down cluster-status images deploy
cluster-up: ## Start the local cluster, or repair it
	@dev/cluster up

cluster-down: ## Stop it and leave nothing running
	@dev/cluster down

cluster-status: ## Show what runs
	@dev/cluster status

images: ## Build the images of the operator and of Spark and load them into the cluster
	@dev/images

deploy: bootstrap images ## Install or upgrade the chart in the local cluster
	@PYTHONPATH=dev $(PYTHON) dev/deploy.py

##@ Releases
.PHONY: release
release: bootstrap ## Write images, chart, manifest, command line and checksums into dist; REGISTRY=host/path for the chart
	@PYTHONPATH=dev $(PYTHON) -m release --registry "$${REGISTRY:-}"

##@ While working on the code
.PHONY: bootstrap python check format generate docs unit integration run
bootstrap: ## Install uv and Java where they are missing, and make .venv
	@dev/bootstrap >/dev/null

python: ## Make .venv with nothing but python3 or uv
	@dev/bootstrap --python-only >/dev/null

check: python ## Lint, types, layers, generated files and documentation
	@$(PYTHON) dev/run_tests.py check

format: python ## Format the code
	@.venv/bin/ruff format .
	@.venv/bin/ruff check --fix-only --quiet .

generate: python ## Generate the CRDs, the lists of fields and docs/reference/names.md from the code
	@$(PYTHON) dev/generate.py --write

docs: python ## Show the documentation at http://127.0.0.1:8000 and follow changes
	@.venv/bin/mkdocs serve

# On all cores, because nothing runs beside them; `make test` fills the cores with lanes.
unit: python ## Tests that need neither Spark nor a cluster
	@PYTEST_ADDOPTS="-n auto --dist=loadfile" $(PYTHON) dev/run_tests.py check unit

integration: bootstrap ## Tests with real Spark, Hudi and S3, without a cluster
	@$(PYTHON) dev/run_tests.py integration

run: python ## Run the operator on this machine against the cluster of KUBECONFIG; SPARK_IMAGE names the image of its Jobs
	@[ -z "$${SPARK_IMAGE:-}" ] && [ -e .dev/images.env ] && . .dev/images.env; \
	  export HUDI_OPERATOR_SPARK_IMAGE="$${SPARK_IMAGE:-}" HUDI_OPERATOR_LOG_FORMAT=text; \
	  exec .venv/bin/hudi-operator run
