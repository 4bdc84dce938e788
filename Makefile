# The commands of this project. Rust (cargo, rustfmt, clippy) and Python 3.11 or newer are assumed; what else is missing is
# installed. Each target is quick when there is nothing to do.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
DAEMON := target/release/airwattd
OUT := out
export PIP_DISABLE_PIP_VERSION_CHECK := 1

RUST := $(shell find crates -name '*.rs' -o -name '*.c' -o -name '*.h' -o -name Cargo.toml) $(shell find hosts radios scenarios -name '*.toml' 2>/dev/null)

.PHONY: help build dcsctp demo wheel deb deb-source test test-long test-wifi bench docs site bless fuzz fuzz-all mutants audit count release clean
.DEFAULT_GOAL := help

help: ## Print this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/make \1	\2/p' Makefile | expand -t 18

build: $(VENV)/.core $(DAEMON) ## Install what is missing and build; leaves .venv/bin/airwatt and target/release/airwattd

demo: $(if $(wildcard $(VENV)/.core),build,$(VENV)/.demo) ## Build what it needs, run the main job, and say where the pictures are
	@mkdir -p $(OUT)
	@echo '$$ airwatt compare fast-dsl --policy active,psm'
	@$(BIN)/airwatt compare fast-dsl --policy active,psm --plot $(OUT)/compare.png 2>$(OUT)/demo.log || { cat $(OUT)/demo.log; exit 1; }
	@echo
	@echo '$$ airwatt analyze captures/tcp-download.pcapng'
	@$(BIN)/airwatt analyze captures/tcp-download.pcapng --plot $(OUT)/analyze.png 2>$(OUT)/demo.log || { cat $(OUT)/demo.log; exit 1; }
	@echo
	@echo 'Pictures: $(OUT)/compare.png $(OUT)/analyze.png'

DCSCTP := target/dcsctp

dcsctp: $(VENV)/.packages ## Build both with a patched copy of the library dcsctp, with which SCTP in tunnels is faster (packaging/dcsctp)
	@packaging/dcsctp/prepare $(DCSCTP)
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release --config 'paths=["$(CURDIR)/$(DCSCTP)"]' >$(VENV)/build.log 2>&1 || { cat $(VENV)/build.log >&2; exit 1; }
	@cargo build --release --quiet --workspace --bin airwattd --config 'paths=["$(CURDIR)/$(DCSCTP)"]'
	@touch $(VENV)/.core $(DAEMON)

WHEEL_OUT := target/wheels

wheel: build ## Build the Python package with its core (abi3: one file for Python 3.11 and newer) into target/wheels
	@rm -rf $(WHEEL_OUT)
	@$(BIN)/python -P python/airwatt/built.py >python/airwatt/_commit
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin build --release --out $(WHEEL_OUT) >$(VENV)/wheel.log 2>&1 || { cat $(VENV)/wheel.log >&2; exit 1; }
	@ls $(WHEEL_OUT)/*.whl

deb: wheel ## Build the Debian packages airwattd, airwatt and airwatt-doc into target/debian
	@packaging/debian/build $$(ls $(WHEEL_OUT)/*.whl) $(DAEMON) $(CURDIR)/$(BIN)/python target/debian

deb-source: ## Make the Debian source package of the last commit, with the crates that it is built from, in target/debian-source
	@packaging/debian/source target/debian-source

test: ## Run every check and test; quiet unless one fails
	@.ci/check

test-long: build ## Run the tests that take minutes
	@.ci/system-packages long
	@$(BIN)/pip install --quiet 'distributed>=2024.8' # the extra `cluster`
	@cargo test --profile long --workspace --quiet --no-fail-fast -- --ignored
	@cargo test --profile long --workspace --quiet --no-fail-fast --lib # properties with inputs that are new each time
	@cargo check --profile long --quiet --package airwatt-proto --no-default-features # what links no cryptography and no SCTP
	@cargo test --profile long --workspace --quiet --test hostile --test header --test captures # shorter in the test profile
	@$(BIN)/python -m pytest -m long || [ $$? -eq 5 ] # 5: there is none in Python yet

MEDIUM := target/release/hwsim-medium

test-wifi: build $(MEDIUM) ## Run the tests of Wi-Fi power save in a user-mode kernel, which is built once (ten minutes), and under Debian's
	@.ci/system-packages long
	@.ci/system-packages kernel
	@tests/linux/wifi/user-mode-kernel >/dev/null
	@$(BIN)/python -m pytest -m long tests/linux/test_wifi_user_mode.py tests/linux/test_wifi_debian.py

$(MEDIUM): $(DAEMON)
	@cargo build --release --quiet --workspace --bin hwsim-medium

bench: build ## Measure the engine, the shipped scenarios, and as root what ackloss costs
	@cargo bench --quiet --package airwatt-sim --bench engine
	@$(BIN)/python benches/scenarios.py
	@$(BIN)/python benches/ackloss_overhead.py
	@$(BIN)/python benches/models.py
	@$(BIN)/python benches/store.py
	@$(BIN)/python benches/runner.py

docs: build ## Write anew what pages and pictures show of results: README, docs/models, docs/tutorials, docs/powersave.md, docs/topologies.md, docs/sweeps.md, docs/scenario.md, docs/hosts.md, docs/question.md, docs/img
	@$(BIN)/python .ci/schema_types.py
	@$(BIN)/python .ci/pictures.py
	@$(BIN)/python tests/reference/hosts_page.py
	@$(BIN)/python tests/reference/question_page.py
	@$(BIN)/python tests/reference/ns3/compare.py --tables
	@$(BIN)/python -m pytest --bless tests/python/test_readme.py tests/python/test_models_docs.py tests/python/test_powersave_docs.py tests/python/test_topologies_docs.py tests/python/test_office_docs.py tests/python/test_sweeps_docs.py tests/python/test_keys.py tests/python/test_tutorials.py

bless: docs ## Write fingerprints, table snapshots and pages anew, after a change of results that was meant
	@AIRWATT_BLESS=1 cargo test -p airwatt-sim --quiet --test runs fingerprints
	@$(BIN)/python -m pytest --bless tests/python/test_tables.py

TARGET ?= pcap
SECONDS ?= 60

fuzz: ## Mutate the corpus of TARGET for SECONDS; stops at the first input that breaks a rule (fuzz/README.md)
	@RUSTFLAGS="$$RUSTFLAGS --cfg fuzzing" cargo run --profile fuzz --quiet --package airwatt-fuzz -- $(TARGET) $(SECONDS) $(SEED) $(KEEP)

HOURS ?= 1

fuzz-all: ## Fuzz every target for HOURS together, and add the counts to fuzz/counts.csv
	@.ci/fuzz-all $(HOURS)

ROUND ?= 0

mutants: ## Change the code of each crate in some twenty places, others in each ROUND, and name the changes that its tests do not notice
	@.ci/mutants $(ROUND) $(CRATES)

audit: ## Check licences, sources and known vulnerabilities of everything that is installed or compiled in
	@.ci/audit
	@python3 .ci/dependencies.py --check

count: ## Count the lines of product code of each crate and of the Python package
	@.ci/count

site: $(VENV)/.packages ## Build the documentation as a site with a search and the references of Rust and Python into target/site
	@.ci/site

release: ## Build wheel, Debian packages and site of this version, and try them in a fresh Debian (as root)
	@.ci/release

clean: ## Remove everything that was built or installed here
	rm -rf $(VENV) $(OUT) target python/airwatt/_core*.so

$(VENV)/.system: .ci/system-packages
	@.ci/system-packages
	@mkdir -p $(VENV) && touch $@

# Only what pyproject.toml names; a change there installs again.
$(VENV)/.packages: pyproject.toml $(VENV)/.system
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python .ci/requirements.py >$(VENV)/requirements.txt
	@$(BIN)/pip install --quiet --requirement $(VENV)/requirements.txt
	@touch $@

# What the demo needs and nothing else: the module in the profile of the tests, which takes a third of the time of a release, and no daemon.
$(VENV)/.demo: $(VENV)/.system pyproject.toml Cargo.toml Cargo.lock $(RUST)
	@echo 'building (two minutes or so the first time)' >&2
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python .ci/requirements.py plots >$(VENV)/requirements-demo.txt
	@$(BIN)/pip install --quiet --requirement $(VENV)/requirements-demo.txt 'maturin>=1.9.4,<2'
	@CARGO_INCREMENTAL=0 CARGO_PROFILE_DEV_DEBUG=0 VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop >$(VENV)/build.log 2>&1 || { cat $(VENV)/build.log >&2; exit 1; }
	@touch $@

$(VENV)/.core: $(VENV)/.packages pyproject.toml packaging/wheel/scripts/airwatt Cargo.toml Cargo.lock $(RUST)
	@echo 'building (some minutes the first time)' >&2
	@VIRTUAL_ENV=$(CURDIR)/$(VENV) $(BIN)/maturin develop --release >$(VENV)/build.log 2>&1 || { cat $(VENV)/build.log >&2; exit 1; }
	@touch $@

$(DAEMON): $(VENV)/.system Cargo.toml Cargo.lock $(RUST) | $(VENV)/.core
	@AIRWATT_COMMIT=$$($(BIN)/python -P python/airwatt/built.py | head -n 1) \
	    cargo build --release --quiet --workspace --bin airwattd >$(VENV)/daemon.log 2>&1 || { cat $(VENV)/daemon.log >&2; exit 1; }
	@touch $@
