# What is done to this repository by name; `make` alone lists it.

.PHONY: help demo docs test test-docs test-python test-package test-long check-data bench bench-python bench-scaling bench-peers

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## demo       fits a map of risk to the built-in data, and shows it (in ./demo)
demo:
	cargo build --release
	@rm -rf demo
	target/release/towline fit examples/geo_ncsids/model.toml --out demo
	target/release/towline summary demo
	target/release/towline map demo
	target/release/towline report demo

## test       format, lints, docs and all tests: what CI runs
test:
	@command -v chromium >/dev/null || (apt-get update && apt-get install --yes --no-install-recommends chromium) || echo 'no Chromium: the report is not tested in a browser'
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
	cargo test --workspace
	$(MAKE) test-python
	$(MAKE) test-package
	$(MAKE) test-docs

## test-python  ArviZ and GetDist read the exports (in .venv, made when needed)
test-python: .venv/ready
	cargo build --package towline-cli --features parquet
	.venv/bin/python tests/python/exports.py target/debug/towline

## test-package  the Python package (built into .venv)
test-package: .venv/ready
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --quiet
	.venv/bin/python -m pytest --quiet python/tests

## docs       the site, into target/site (in .venv-docs, made when needed); warnings are errors
docs: .venv-docs/ready
	NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --package towline --package towline-models --package towline-cli --lib
	cp -r target/doc target/site/rust
	python3 docs/tests/check_site.py target/site

.venv-docs/ready: docs/requirements.txt
	python3 -m venv .venv-docs
	.venv-docs/bin/pip install --quiet --requirement $<
	touch $@

## test-docs  runs every block of README and the docs, and the notebooks; then builds the site
test-docs: .venv/ready .venv/docs-ready
	cargo build --package towline-cli
	python3 docs/build/command.py --check target/debug/towline
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --quiet
	.venv/bin/python docs/tests/run_blocks.py target/debug/towline
	.venv/bin/python docs/tests/notebooks.py
	$(MAKE) docs

.venv/docs-ready: docs/tests/requirements.txt .venv/ready
	.venv/bin/pip install --quiet --requirement $<
	touch $@

.venv/ready: tests/python/requirements.txt
	python3 -m venv .venv
	.venv/bin/pip install --quiet --requirement $<
	touch $@

## test-long  the statistical tests with many more draws (tens of minutes)
test-long:
	TOWLINE_LONG=1 cargo test --workspace --test frames --test warmup --test run --test sbc -- --nocapture --test-threads 2

## bench-python  what a fast evaluation in Python costs beyond the model's own time (a minute, after an optimised build)
bench-python: .venv/ready
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --release --quiet
	.venv/bin/python python/benches/overhead.py

## check-data  fits every data set, and compares with other programs' answers (some minutes)
check-data:
	cargo build --release
	python3 tests/data/check.py target/release/towline

## bench-scaling  how time and memory grow with the size of a model, on simulated data (some minutes)
bench-scaling: .venv/ready
	cargo build --release
	python3 benches/scaling.py target/release/towline --out docs/figures/scaling.csv
	.venv/bin/python docs/figures/scaling.py docs/figures/scaling.csv docs/figures/scaling.png

## bench-peers  beside NUTS on the same models, priors and data (half an hour; in .venv-peers, made when needed)
bench-peers: .venv-peers/ready
	cargo build --release
	.venv-peers/bin/python benches/peers/compare.py target/release/towline

.venv-peers/ready: benches/peers/requirements.txt
	python3 -m venv .venv-peers
	.venv-peers/bin/pip install --quiet --requirement $<
	touch $@

## bench      the inner loop beside the same loop in C, warm-up's choice beside a grid, the cost of storing, memory (some minutes)
# For this machine alone, as the C program is: hence a target directory of its own.
bench:
	RUSTFLAGS="-C target-cpu=native" cargo run --release --package towline-bench --target-dir target/bench-native
	RUSTFLAGS="-C target-cpu=native" cargo run --release --package towline-bench --target-dir target/bench-native -- sleeping
	RUSTFLAGS="-C target-cpu=native" cargo run --release --package towline-bench --target-dir target/bench-native -- store
	RUSTFLAGS="-C target-cpu=native" cargo run --release --package towline-bench --target-dir target/bench-native -- memory
