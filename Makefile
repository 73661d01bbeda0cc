# `make` says what there is. Every target works in a fresh clone: tests/setup.sh installs or names
# what is missing.
TARGET := $(or $(CARGO_TARGET_DIR),target)
# The version that deny.toml is written for; kept out of the user's own cargo binaries.
CARGO_DENY_VERSION := 0.20.2
CARGO_DENY := $(TARGET)/tools/cargo-deny-$(CARGO_DENY_VERSION)/bin/cargo-deny

# The database of advisories is a repository that not every machine can reach; where it cannot be
# fetched, the other checks are made and the gap is said.
DENY_OFFLINE := bans licenses sources

.DEFAULT_GOAL := help
.PHONY: help demo test chaos lint bench dashboards

help: ## This list
	@awk -F ':.*## ' '/^[a-z]+:.*## / { printf "make %-11s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

demo: ## Everything in one process: embedded broker, traffic, sidecar, metrics (DEMO='--for 30s' passes flags)
	@tests/setup.sh build
	cargo run --release -- demo $(DEMO)

test: ## All tests, against a real Kafka and a real Prometheus
	@tests/setup.sh
	cargo test --workspace

chaos: ## Hundreds of kills, pauses and restarts, in some minutes (docs/guarantees.md)
	@tests/setup.sh build kafka prometheus
	RANKGAUGE_KILLS=$(or $(KILLS),200) RANKGAUGE_ROUNDS=$(or $(ROUNDS),8) \
		cargo test --test it -- --nocapture live::recovery live::fleet

lint: $(CARGO_DENY) ## Format, clippy, documentation, licences and advisories
	@tests/setup.sh build
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS='-D warnings' cargo doc --workspace --no-deps --document-private-items
	@if $(CARGO_DENY) fetch db; then $(CARGO_DENY) check; else \
		echo 'lint: the advisory database cannot be reached: ADVISORIES ARE NOT CHECKED' >&2; \
		$(CARGO_DENY) check $(DENY_OFFLINE); fi

bench: ## Benchmarks: the engine alone; checkpoints; memory; regression tests; a worker on a real Kafka, and evaluate, beside their peers
	@tests/setup.sh build kafka peers trec_eval
	cargo bench --bench engine --bench checkpoint --bench memory --bench detection --bench broker --bench evaluate

dashboards: ## Writes grafana/dashboards anew from their source
	@tests/setup.sh dashboards
	cd grafana && npm run build

$(CARGO_DENY):
	@tests/setup.sh build
	cargo install cargo-deny --version $(CARGO_DENY_VERSION) --locked --root $(TARGET)/tools/cargo-deny-$(CARGO_DENY_VERSION)
