# What is done to this repository by name; `make` alone lists it.

.PHONY: help demo test test-mpi test-python test-package test-cobaya test-long check-data bench bench-cobaya bench-python bench-scaling bench-peers

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
	cargo clippy --workspace --exclude towline-mpi --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --exclude towline-mpi --no-deps
	cargo test --workspace --exclude towline-mpi
	$(MAKE) test-mpi
	$(MAKE) test-python
	$(MAKE) test-package
	$(MAKE) test-cobaya

# What towline-mpi needs to be built and run, in Debian's names.
MPI_PACKAGES = libopenmpi-dev openmpi-bin libclang-dev

## test-mpi   lints, docs and tests of towline-mpi, under mpirun; installs Open MPI where it is absent
test-mpi:
	@if ! { command -v mpirun && command -v mpicc && dpkg -s $(MPI_PACKAGES); } >/dev/null 2>&1; then \
		apt-get update && apt-get install --yes --no-install-recommends $(MPI_PACKAGES) || true; \
	fi
	@if command -v mpirun >/dev/null && command -v mpicc >/dev/null; then \
		$(MAKE) test-mpi-here; \
	else \
		echo 'no MPI: towline-mpi is NOT tested; install $(MPI_PACKAGES), or the like' >&2; \
	fi

.PHONY: test-mpi-here
test-mpi-here:
	cargo clippy --package towline-mpi --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --package towline-mpi --no-deps
	cargo test --package towline-mpi

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

## test-cobaya  the Cobaya sampler and the CMB example (in .venv-cobaya, made when needed)
test-cobaya: .venv-cobaya/ready
	OMP_NUM_THREADS=1 .venv-cobaya/bin/python -m pytest --quiet python/tests/cobaya

# With mpi4py where there is an MPI to build or run it with: without one, the test under mpirun is left out.
.venv-cobaya/ready: python/tests/cobaya/requirements.txt pyproject.toml python/Cargo.toml $(wildcard python/src/*.rs python/towline/*.py python/towline/cobaya/*)
	python3 -m venv .venv-cobaya
	.venv-cobaya/bin/pip install --quiet --requirement $<
	.venv-cobaya/bin/pip install --quiet mpi4py || echo 'no mpi4py: the sampler is not tested under mpirun'
	.venv-cobaya/bin/pip install --quiet .
	touch $@

## test-long  the statistical tests with many more draws (tens of minutes)
test-long:
	TOWLINE_LONG=1 cargo test --workspace --exclude towline-mpi --test frames --test warmup --test run --test sbc -- --nocapture --test-threads 2
	TOWLINE_LONG=1 $(MAKE) test-mpi

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
	OMP_NUM_THREADS=1 .venv-cobaya/bin/python benches/peers/cobaya_all.py
