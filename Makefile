# `make` lists the targets. Every target works in a fresh clone: tests/setup.sh installs or lists
# missing tools.
TARGET := $(or $(CARGO_TARGET_DIR),target)
# The version that deny.toml is written for. It is installed outside the user's cargo binaries.
CARGO_DENY_VERSION := 0.20.2
CARGO_DENY := $(TARGET)/tools/cargo-deny-$(CARGO_DENY_VERSION)/bin/cargo-deny

# The advisory database is a repository that not every machine can reach. If it cannot be fetched,
# the other checks run and the missing check is reported.
DENY_OFFLINE := bans licenses sources

# `prometheus` and `promtool` of Prometheus 3 (tests/prometheus3).
PROMETHEUS3 := $(TARGET)/prometheus3/bin

# Most tests wait for Kafka, Prometheus and time-outs: two for each processor use it well.
TEST_THREADS := $(shell echo $$((2 * $$(nproc))))

# Root's tests. Packages and features are those of `make test`, so that one build serves all targets.
IT := cargo test --workspace --features columnar --test it --

# zstd of the system, where its headers are: nothing to compile. All targets that use the development build have it, or
# they would compile each other's crates again. Releases and benchmarks build it.
DEVELOPMENT := demo test lint alerts-test prometheus3 chaos soak test-connect test-registry test-solr test-commands \
	deploy-test rollout-test compose-test api-fuzz pictures-terminal page-bench
ifeq ($(shell [ "$$(uname -s)" = Linux ] && pkg-config --exists libzstd 2>/dev/null && echo yes),yes)
$(DEVELOPMENT): export ZSTD_SYS_USE_PKG_CONFIG := 1
endif

# Tests that mount, chroot or run containers, for users without root rights.
AS_ROOT := $(if $(filter-out 0,$(shell id -u)),sudo -n -E env "PATH=$$PATH" "HOME=$$HOME")

.DEFAULT_GOAL := help
.PHONY: help demo test python test-connect test-registry test-solr prometheus3 chaos fuzz soak alerts-test year lint advisories bench instructions dashboards otel-fixtures deploy-test rollout-test compose-test image image-test release release-arm64 release-test publish-test first-run-test test-commands workflows docs page-bench api-fuzz pictures pictures-terminal

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / { printf "make %-17s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Run everything in one process: embedded broker, traffic, sidecar, metrics (DEMO='--for 30s' passes flags)
	@tests/setup.sh build
	cargo run --profile demo -- demo $(DEMO)

# So few inputs are run sooner than an optimised fuzzer is built.
test: ## Run the tests of all crates, with a real Kafka and a real Prometheus, and a short run of the fuzzer
	@tests/setup.sh
	RUST_TEST_THREADS=$(TEST_THREADS) cargo test --workspace --features columnar
	CARGO_PROFILE_FUZZ_OPT_LEVEL=1 fuzz/run.sh 20000

python: ## Build the wheel of the Python package into target/wheels, and run its tests (docs/python.md)
	@tests/setup.sh build python
	crates/python/build.sh
	crates/python/test.sh $(PYTEST)

alerts-test: ## Run an hour of healthy demo traffic through the shipped rules and Alertmanager (docs/operations.md)
	@tests/setup.sh build kafka prometheus
	$(IT) --ignored --nocapture live::alerts::

year: ## Run a year of simulated traffic of a shop through engine and rules, and count the pages (YEAR='--shop medium'; docs/operations.md)
	@tests/setup.sh build prometheus
	cargo build --release
	rm -rf target/year
	python3 tests/year/year.py target/release/rankgauge target/year $(YEAR)

prometheus3: ## Check rules, dashboards and alerts with Prometheus 3, built from Go modules (docs/operations.md)
	@tests/setup.sh build kafka prometheus dashboards prometheus3
	$(PROMETHEUS3)/promtool --version | head -n 1
	$(PROMETHEUS3)/promtool check rules --lint=all --lint-fatal deploy/prometheus/rules/*.yaml
	$(PROMETHEUS3)/promtool test rules deploy/prometheus/rules/tests/*.yaml
	PATH="$(abspath $(PROMETHEUS3)):$$PATH" $(IT) rules:: dashboards:: live::alerts:: live::prometheus::

chaos: ## Run hundreds of kills, pauses and restarts, in a few minutes (docs/guarantees.md)
	@tests/setup.sh build kafka prometheus
	RANKGAUGE_KILLS=$(or $(KILLS),200) RANKGAUGE_ROUNDS=$(or $(ROUNDS),8) RANKGAUGE_AWAY_SECONDS=60 \
		$(IT) --nocapture live::recovery live::fleet gateway::durability

fuzz: ## Run millions of inputs on every reader of external input (RUNS=20000000 of each fast target, SEED=1)
	@tests/setup.sh build
	SEED=$(or $(SEED),1) fuzz/run.sh $(or $(RUNS),20000000)

soak: ## Run mixed load with disturbances for an hour (MINUTES=60) after a warm-up, and compare resources and counters
	@tests/setup.sh build kafka
	RANKGAUGE_SOAK_MINUTES=$(or $(MINUTES),60) $(IT) --nocapture live::soak

lint: $(CARGO_DENY) ## Check format, clippy, documentation, licences and advisories
	@tests/setup.sh build
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --features columnar -- -D warnings
	cargo clippy --workspace --all-targets -- -D warnings
	cargo fmt --manifest-path crates/python/Cargo.toml --check
	CARGO_TARGET_DIR=$(abspath $(TARGET)) cargo clippy --locked --manifest-path crates/python/Cargo.toml -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --features columnar --no-deps --document-private-items
	@if $(CARGO_DENY) fetch db; then $(CARGO_DENY) check; else \
		echo 'lint: advisory database unreachable: ADVISORIES ARE NOT CHECKED' >&2; \
		$(CARGO_DENY) check $(DENY_OFFLINE); fi

advisories: $(CARGO_DENY) ## Check the advisories of all locked dependencies; fails if the database cannot be fetched
	$(CARGO_DENY) fetch db
	$(CARGO_DENY) check advisories
	$(CARGO_DENY) --manifest-path crates/python/Cargo.toml --config deny.toml check advisories

bench: ## Run the benchmarks (docs/performance.md); those with a target print "target: …: met" or "MISSED"
	@tests/setup.sh build kafka bench peers python trec_eval
	cargo bench --bench broker
	cargo bench --bench broker -- --pin --rounds 3
	cargo bench --bench gateway
	cargo bench --bench law_search
	cargo bench --bench memory --bench scrape
	cargo bench --bench engine --bench checkpoint --bench detection --bench evaluate
	cargo bench --bench checkpoint -- --copies 20
	cargo bench --bench otlp --bench encodings --bench scaling
	crates/python/build.sh
	$(TARGET)/python/bin/python -P crates/python/bench.py

instructions: ## Compare the instructions of the engine with benches/instructions.json (UPDATE=1 writes it)
	@tests/setup.sh build valgrind
	cargo bench --bench instructions -- $(if $(UPDATE),--update)

otel-fixtures: ## Regenerate tests/data/otel with the instrumentation packages of OpenTelemetry
	@tests/setup.sh otel
	$(TARGET)/otel/bin/python tests/otel/generate.py tests/data/otel

deploy-test: ## Install, upgrade and remove chart and overlays in a real Kubernetes API server (UPDATE=1 writes derived manifests)
	@tests/setup.sh build prometheus deploy
	cargo build --bin rankgauge
	python3 tests/deploy/cluster.py $(if $(UPDATE),--update)

rollout-test: ## Run the queries of Argo Rollouts, Flagger and KEDA on a real Prometheus with a good and a bad variant
	@tests/setup.sh build prometheus
	cargo build --bin rankgauge
	python3 tests/deploy/rollouts.py

compose-test: ## Validate deploy/compose.yaml and the configuration of every service in it
	@tests/setup.sh build kafka prometheus deploy
	cargo build --bin rankgauge
	python3 tests/deploy/compose.py

image: ## Build the image with buildah, without a daemon (the first static build takes about ten minutes)
	@tests/setup.sh build image
	deploy/image/build.sh

image-test: image ## Run the image under runc, read-only and without capabilities, against a real Kafka
	@tests/setup.sh kafka
	$(AS_ROOT) python3 tests/deploy/image.py

release: ## Build all artefacts of a release: binary, deb, rpm, image, chart, SBOM, checksums
	@tests/setup.sh build image packages
	deploy/release/release.sh

release-test: release ## Install, start, upgrade and purge the deb in a Debian; check the unit, the rpm and the checksums
	@tests/setup.sh kafka
	$(AS_ROOT) python3 tests/deploy/packages.py

publish-test: ## Run the dry run of the publication with files of the names of a release
	python3 tests/deploy/publish.py

first-run-test: release python ## Follow each way in as a stranger does, in an empty Debian, with measured times (STEP=chart, UPDATE=1 writes docs/install.md)
	@tests/setup.sh kafka deploy first-run
	$(AS_ROOT) python3 tests/deploy/first_run.py $(if $(UPDATE),--update) $(STEP)

release-arm64: ## Build the static binary for arm64 on x86-64, and run it with qemu
	@tests/setup.sh build arm64
	deploy/release/arm64.sh

test-commands: ## Run the tests of the commands for files, which need only Rust and a C compiler, and build the binary
	@tests/setup.sh build
	cargo test -p rankgauge-core -p rankgauge-eval -p rankgauge-probe -p rankgauge-lab
	cargo build

workflows: ## Check the hosted workflows and the action with actionlint and zizmor
	@tests/setup.sh workflows
	$(TARGET)/workflows/bin/actionlint
	$(TARGET)/workflows/bin/zizmor --offline --no-progress .github action.yml examples/ci

docs: ## Build the documentation as a searchable site in target/site, and check its links
	@tests/setup.sh build docs
	docs/site/build.sh

test-connect: ## Run the programs of docs/connect in five languages against a real Kafka and a gateway
	@tests/setup.sh build kafka connect
	$(IT) --include-ignored connect::

test-registry: ## Read records of the serializers of Python and JavaScript through a real schema registry
	@tests/setup.sh build kafka registry
	$(IT) --include-ignored registry::

test-solr: ## Probe a real Solr: to a file and through Kafka, with a planted change of the ranking
	@tests/setup.sh build kafka solr
	$(IT) --include-ignored probe::solr

dashboards: ## Regenerate grafana/dashboards from their source
	@tests/setup.sh dashboards
	cd grafana && npm run build

page-bench: ## Measure first views of the live page with 1,000 gold queries, and the CPU time of a reader (docs/page.md)
	@tests/setup.sh build kafka
	$(IT) --nocapture live::page::the_first_view

api-fuzz: ## Fuzz the API with requests generated from its description (docs/api.md)
	@tests/setup.sh build api
	cargo build
	tests/api/fuzz.sh

pictures: ## Take the pictures of the live page for the documentation, and of all screens at four widths, light and dark (target/pictures)
	@tests/setup.sh build browser
	cargo build --release
	tests/browser/pictures.sh

pictures-terminal: ## Draw docs/pictures/terminal.svg, the demo's terminal with the alarm on one system
	@tests/setup.sh build
	UPDATE=1 $(IT) terminal::picture

$(CARGO_DENY):
	@tests/setup.sh build
	CARGO_PROFILE_RELEASE_LTO=off CARGO_PROFILE_RELEASE_CODEGEN_UNITS=16 CARGO_PROFILE_RELEASE_OPT_LEVEL=0 \
		cargo install cargo-deny --version $(CARGO_DENY_VERSION) --locked --root $(TARGET)/tools/cargo-deny-$(CARGO_DENY_VERSION)
