# What is done to this repository by name; `make` alone lists it.

.PHONY: help test test-python test-package test-cobaya test-long bench bench-python bench-cobaya

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## test       format, lints, docs and all tests: what CI runs
test:
	@command -v chromium >/dev/null || (apt-get update && apt-get install --yes --no-install-recommends chromium) || echo 'no Chromium: the report is not tested in a browser'
	cargo fmt --all --check
	cargo clippy --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps
	cargo test --workspace
	$(MAKE) test-python
	$(MAKE) test-package
	$(MAKE) test-cobaya

## test-python  ArviZ and GetDist read the exports (in .venv, made when needed)
test-python: .venv/ready
	cargo build --package towline-cli --features parquet
	.venv/bin/python tests/python/exports.py target/debug/towline

## test-package  the Python package (built into .venv)
test-package: .venv/ready
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --quiet
	.venv/bin/python -m pytest --quiet python/tests

.venv/ready: tests/python/requirements.txt
	python3 -m venv .venv
	.venv/bin/pip install --quiet --requirement $<
	touch $@

## test-cobaya  the Cobaya sampler and the CMB example (built into .venv-cobaya)
test-cobaya: .venv-cobaya/ready
	VIRTUAL_ENV=$(CURDIR)/.venv-cobaya .venv-cobaya/bin/maturin develop --quiet
	OMP_NUM_THREADS=1 .venv-cobaya/bin/python -m pytest --quiet python/tests/cobaya

# With mpi4py where it can be had: without it, the test under mpirun is left out.
.venv-cobaya/ready: python/tests/cobaya/requirements.txt
	python3 -m venv .venv-cobaya
	.venv-cobaya/bin/pip install --quiet --requirement $<
	.venv-cobaya/bin/pip install --quiet mpi4py || echo 'no mpi4py: the sampler is not tested under mpirun'
	touch $@

## test-long  the statistical tests with many more draws (tens of minutes)
test-long:
	TOWLINE_LONG=1 cargo test --workspace --test frames --test warmup --test run --test sbc -- --nocapture --test-threads 2

## bench-python  what a fast evaluation in Python costs beyond the model's own time (a minute, after an optimised build)
bench-python: .venv/ready
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --release --quiet
	.venv/bin/python python/benches/overhead.py

## bench      the inner loop beside the same loop in C, warm-up's choice beside a grid, the cost of storing, memory (some minutes)
# For this machine alone, as the C program is: hence a target directory of its own.
bench:
	RUSTFLAGS="-C target-cpu=native" cargo run --release --package towline-bench --target-dir target/bench-native
	RUSTFLAGS="-C target-cpu=native" cargo run --release --package towline-bench --target-dir target/bench-native -- sleeping
	RUSTFLAGS="-C target-cpu=native" cargo run --release --package towline-bench --target-dir target/bench-native -- store
	RUSTFLAGS="-C target-cpu=native" cargo run --release --package towline-bench --target-dir target/bench-native -- memory

## bench-cobaya  beside Cobaya's own mcmc: the report's tests, and the emulated CMB posterior of $(TOWLINE_CMB_DATA) (half an hour)
bench-cobaya: .venv-cobaya/ready
	VIRTUAL_ENV=$(CURDIR)/.venv-cobaya .venv-cobaya/bin/maturin develop --release --quiet
	OMP_NUM_THREADS=1 .venv-cobaya/bin/python benches/peers/cobaya_all.py
