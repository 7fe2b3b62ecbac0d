# What is done to this repository by name; `make` alone lists it.

.PHONY: help demo docs test tools test-rust test-mpi test-python test-package test-cobaya test-docs test-long check-data package
.PHONY: bench bench-cobaya bench-peers bench-python bench-scaling

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
test: tools
	cargo fmt --all --check
	$(MAKE) test-rust
	$(MAKE) test-python
	$(MAKE) test-package
	$(MAKE) test-cobaya
	$(MAKE) test-docs

# What towline-mpi needs to be built and run, and what looks at the report, in Debian's names.
MPI_PACKAGES = libopenmpi-dev openmpi-bin libclang-dev
MPI = $(shell command -v mpirun >/dev/null && command -v mpicc >/dev/null && echo yes)
WITHOUT_MPI = $(if $(MPI),,--exclude towline-mpi)

tools:
	@command -v chromium >/dev/null || (apt-get update && apt-get install --yes --no-install-recommends chromium) || echo 'no Chromium: the report is not tested in a browser' >&2
	@{ command -v mpirun && command -v mpicc && dpkg -s $(MPI_PACKAGES); } >/dev/null 2>&1 \
		|| (apt-get update && apt-get install --yes --no-install-recommends $(MPI_PACKAGES)) \
		|| echo 'no MPI: towline-mpi is NOT tested; install $(MPI_PACKAGES), or the like' >&2

## test-rust  lints, docs and tests of all crates
# In one call, with the features that later tests need, so that nothing is compiled twice.
test-rust:
	cargo clippy --workspace $(WITHOUT_MPI) --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace $(WITHOUT_MPI) --no-deps
	cargo test --workspace $(WITHOUT_MPI) --exclude towline-python --features towline-cli/parquet

## test-mpi   the tests of towline-mpi alone, under mpirun
test-mpi: tools
	cargo test --package towline-mpi

COMMAND = target/debug/towline
$(COMMAND):
	cargo build --package towline-cli --features parquet

## test-python  ArviZ and GetDist read the exports (in .venv, made when needed)
test-python: .venv/ready $(COMMAND)
	.venv/bin/python tests/python/exports.py $(COMMAND)

## package    the Python package, built into .venv
package: .venv/ready
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --quiet

## test-package  its tests
test-package: package
	.venv/bin/python -m pytest --quiet python/tests --ignore python/tests/cobaya

## test-cobaya  the Cobaya sampler and the CMB example
test-cobaya: package
	OMP_NUM_THREADS=1 .venv/bin/python -m pytest --quiet python/tests/cobaya

## test-docs  runs every block of README and the docs, and the notebooks; then builds the site
test-docs: package $(COMMAND)
	python3 docs/build/command.py --check $(COMMAND)
	.venv/bin/python docs/tests/run_blocks.py $(COMMAND)
	.venv/bin/python docs/tests/notebooks.py
	$(MAKE) docs

## docs       the site, into target/site; warnings are errors
docs: .venv/ready
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --package towline --package towline-models --package towline-cli --lib
	cp -r target/doc target/site/rust
	python3 docs/tests/check_site.py target/site

REQUIREMENTS = tests/python/requirements.txt python/tests/cobaya/requirements.txt docs/requirements.txt docs/tests/requirements.txt

# With mpi4py where there is an MPI to build or run it with: without one, tests under mpirun are left out.
.venv/ready: $(REQUIREMENTS)
	python3 -m venv .venv
	.venv/bin/pip install --quiet $(addprefix --requirement ,$(REQUIREMENTS))
	.venv/bin/pip install --quiet mpi4py || echo 'no mpi4py: the package is not tested under mpirun' >&2
	touch $@

## test-long  the statistical tests with many more draws (tens of minutes)
test-long: tools
	TOWLINE_LONG=1 cargo test --workspace --exclude towline-mpi --test frames --test warmup --test run --test sbc -- --nocapture --test-threads 2
	TOWLINE_LONG=1 $(MAKE) test-mpi

## check-data  fits every data set, and compares with other programs' answers (some minutes)
check-data:
	cargo build --release
	python3 tests/data/check.py target/release/towline

## bench      what users run and the inner loop beside the same in C, warm-up's choice beside a grid, the cost of storing, memory (some minutes)
# For this machine alone, as the C program is: hence a target directory of its own.
bench:
	RUSTFLAGS="-C target-cpu=native" cargo run --release --package towline-bench --target-dir target/bench-native
	RUSTFLAGS="-C target-cpu=native" cargo run --release --package towline-bench --target-dir target/bench-native -- sleeping

## bench-scaling  how time and memory grow with the size of a model, on simulated data (some minutes)
bench-scaling: .venv/ready
	cargo build --release
	python3 benches/scaling.py target/release/towline --out docs/figures/scaling.csv
	.venv/bin/python docs/figures/scaling.py docs/figures/scaling.csv docs/figures/scaling.png

## bench-python  what a fast evaluation in Python costs beyond the model's own time (a minute, after an optimised build)
bench-python: .venv/ready
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --release --quiet
	.venv/bin/python python/benches/overhead.py

## bench-cobaya  beside Cobaya's own mcmc: the report's tests, and the emulated CMB posterior of $(TOWLINE_CMB_DATA) (half an hour)
bench-cobaya: .venv/ready
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --release --quiet
	OMP_NUM_THREADS=1 .venv/bin/python benches/peers/cobaya_all.py

## bench-peers  beside NUTS on the same models, priors and data (half an hour; in .venv-peers, made when needed)
bench-peers: .venv-peers/ready
	cargo build --release
	.venv-peers/bin/python benches/peers/compare.py target/release/towline

.venv-peers/ready: benches/peers/requirements.txt
	python3 -m venv .venv-peers
	.venv-peers/bin/pip install --quiet --requirement $<
	touch $@
