# What is done to this repository by name; `make` alone lists it.

.PHONY: help test test-mpi test-python test-long bench

help:
	@sed -n 's/^## //p' $(MAKEFILE_LIST)

## test       format, lints, docs and all tests: what CI runs
test:
	@command -v chromium >/dev/null || (apt-get update && apt-get install --yes --no-install-recommends chromium) || echo 'no Chromium: the report is not tested in a browser'
	cargo fmt --all --check
	cargo clippy --workspace --exclude towline-mpi --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --exclude towline-mpi --no-deps
	cargo test --workspace --exclude towline-mpi
	$(MAKE) test-mpi
	$(MAKE) test-python

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

.venv/ready: tests/python/requirements.txt
	python3 -m venv .venv
	.venv/bin/pip install --quiet --requirement $<
	touch $@

## test-long  the statistical tests with many more draws (tens of minutes)
test-long:
	TOWLINE_LONG=1 cargo test --workspace --exclude towline-mpi --test frames --test warmup --test run --test sbc -- --nocapture --test-threads 2
	TOWLINE_LONG=1 $(MAKE) test-mpi

## bench      the inner loop beside the same loop in C, warm-up's choice beside a grid, the cost of storing, memory (some minutes)
# For this machine alone, as the C program is: hence a target directory of its own.
bench:
	RUSTFLAGS="-C target-cpu=native" cargo run --release --package towline-bench --target-dir target/bench-native
	RUSTFLAGS="-C target-cpu=native" cargo run --release --package towline-bench --target-dir target/bench-native -- sleeping
	RUSTFLAGS="-C target-cpu=native" cargo run --release --package towline-bench --target-dir target/bench-native -- store
	RUSTFLAGS="-C target-cpu=native" cargo run --release --package towline-bench --target-dir target/bench-native -- memory
