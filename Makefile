# Two commands matter: `make demo` (the main job) and `make test`. `make help` lists the rest.

PYTHON ?= python3
# Whose pipeline `make demo` runs: pytorch or tensorflow. Only that one is installed for it.
FRAMEWORK ?= pytorch
# Which of config/ is synthesized and deployed.
ENV ?= dev
ifeq ($(filter $(FRAMEWORK),pytorch tensorflow),)
$(error FRAMEWORK is '$(FRAMEWORK)'. Allowed: pytorch, tensorflow)
endif
# Where pip finds torch; empty: pip's own index. On Linux a plain install brings the CUDA build (several GB);
# TORCH_INDEX=https://download.pytorch.org/whl/cpu brings the small CPU build.
TORCH_INDEX ?=

export PATH := $(CURDIR)/.venv/bin:$(PATH)
export CDK_DISABLE_CLI_TELEMETRY := true
# Attestations would push an image index, which SageMaker cannot pull.
export BUILDX_NO_DEFAULT_ATTESTATIONS := 1

PIP := .venv/bin/python -m pip --disable-pip-version-check
PEERS_PIP := .venv-peers/bin/python -m pip --disable-pip-version-check
TORCH_PIN := $(shell sed -n 's/^\(torch==[^ ]*\).*/\1/p' requirements-pytorch.txt)
DEMO_DATA := .evenshard/demo-data
# Two tests at a time, but never two that simulate hosts: tests/conftest.py groups them.
PARALLEL := -n 2

# For `make images`: base images from elsewhere, and a pip.conf that the builds read and the images do not hold.
PYTORCH_BASE ?=
TENSORFLOW_BASE ?=
PIP_CONF ?=

.DEFAULT_GOAL := help
.PHONY: help install demo test test-all bench-loop bench-records bench-synth check format hashes synth images deploy destroy clean
# Two pips at once would spoil the environment.
.NOTPARALLEL:
.DELETE_ON_ERROR:

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

install: .venv/.dev-installed ## install everything into .venv

demo: .venv/.$(FRAMEWORK)-installed $(DEMO_DATA)/.complete ## run the whole pipeline on two simulated hosts, on real mail
	.venv/bin/evenshard simulate --framework $(FRAMEWORK) --data $(DEMO_DATA) --hosts 2 --devices-per-host 2

test: .venv/.dev-installed ## run the tests
	.venv/bin/python -m pytest $(PARALLEL) -m "not slow"

test-all: .venv/.dev-installed ## run the tests, the long ones too
	.venv/bin/python -m pytest $(PARALLEL)

bench-loop: .venv/.dev-installed ## measure the PyTorch training loop, and write its tables into docs/benchmarks.md
	.venv/bin/python -m benchmarks.training_loop

bench-records: .venv-peers/.installed ## measure the data layer against other loaders (BENCH=--quick: a short form)
	.venv-peers/bin/python -m benchmarks.records $(BENCH)

bench-synth: .venv/.dev-installed ## measure the processor time of a synth, against an app with one bucket
	.venv/bin/python -m benchmarks.synthesis --runs 5

check: .venv/.dev-installed ## lint, formatting, types, Dockerfiles and every template
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/hadolint training/*/Dockerfile
	rm -rf .evenshard/check && CDK_OUTDIR=.evenshard/check/dev .venv/bin/python app.py
	CDK_CONTEXT_JSON='{"env": "prod"}' CDK_VALIDATION=false CDK_OUTDIR=.evenshard/check/prod .venv/bin/python app.py
	.venv/bin/cfn-lint .evenshard/check/*/*.template.json

format: .venv/.dev-installed ## format the code and mend what the linter can
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

hashes: .venv/.dev-installed ## renew training/*/requirements.lock from the pins beside them
	.venv/bin/python -m evenshard.images.hashes

synth: .venv/.dev-installed ## write the CloudFormation templates to ./cdk.out
	rm -rf cdk.out
	npx cdk synth --quiet -c env=$(ENV)

images: .venv/.dev-installed ## build the training images here, as a deployment would, with docker, podman or buildah
	rm -rf .evenshard/images
	CDK_CONTEXT_JSON='{"env": "$(ENV)"}' CDK_VALIDATION=false CDK_OUTDIR=.evenshard/images .venv/bin/python app.py
	.venv/bin/python -m evenshard.images .evenshard/images \
	  $(if $(PYTORCH_BASE),--base-image pytorch=$(PYTORCH_BASE)) \
	  $(if $(TENSORFLOW_BASE),--base-image tensorflow=$(TENSORFLOW_BASE)) \
	  $(if $(PIP_CONF),--pip-configuration $(PIP_CONF))

deploy: .venv/.dev-installed ## deploy every stack to the AWS account of your credentials
	.venv/bin/python -m infra.ownership $(ENV)
	npx cdk deploy --all -c env=$(ENV)

destroy: .venv/.dev-installed ## delete the environment ENV from AWS, after asking
	.venv/bin/python -m infra.teardown $(ENV)
	npx cdk destroy --all --force -c env=$(ENV)

clean: ## remove what the targets above made
	rm -rf .venv .venv-peers node_modules cdk.out .evenshard

.venv/.created:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and f"Python {sys.version.split()[0]} is too old: install 3.11 or newer, or name it with PYTHON=")'
	$(PYTHON) -m venv .venv
	@touch $@

.venv/.demo-installed: .venv/.created requirements.txt requirements-train.txt pyproject.toml package-lock.json
	$(PIP) install --quiet -r requirements-train.txt
	$(PIP) install --quiet --no-deps --editable .
	npm ci --omit=dev --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

.venv/.pytorch-installed: .venv/.demo-installed requirements-pytorch.txt
	$(PIP) install --quiet $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) $(TORCH_PIN)
	$(PIP) install --quiet -r requirements-pytorch.txt
	@touch $@

.venv/.tensorflow-installed: .venv/.demo-installed requirements-tensorflow.txt
	$(PIP) install --quiet -r requirements-tensorflow.txt
	@touch $@

.venv/.dev-installed: .venv/.pytorch-installed .venv/.tensorflow-installed requirements-dev.txt
	$(PIP) install --quiet -r requirements-dev.txt
	npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

# Apart from .venv: what we are measured against must not decide what we are tested with.
.venv-peers/.installed: benchmarks/requirements-peers.txt
	$(PYTHON) -m venv .venv-peers
	$(PEERS_PIP) install --quiet $(if $(TORCH_INDEX),--index-url $(TORCH_INDEX)) $(TORCH_PIN)
	$(PEERS_PIP) install --quiet -r benchmarks/requirements-peers.txt
	@touch $@

# Uneven shards on purpose: that is what breaks the usual advice.
$(DEMO_DATA)/.complete: .venv/.demo-installed
	rm -rf $(DEMO_DATA)
	.venv/bin/evenshard data $(DEMO_DATA) --shards 8 --skew 1
	@touch $@
