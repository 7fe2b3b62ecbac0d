# What is done to this repository by name; `make` alone lists it.

.PHONY: help demo docs figures test tools built compiled lock test-rust test-mpi test-python test-package test-cobaya test-docs test-long check-data package
.PHONY: wheels static live test-live deny semver
.PHONY: gallery estimates gallery-page bench bench-cobaya bench-evidence bench-peers bench-python bench-scaling bench-workers sensitivity

# Most builds here are from nothing, or of everything: keeping parts of crates for the next one costs more than it saves.
export CARGO_INCREMENTAL ?= 0

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

## test       format, lints, docs and all tests: what CI runs; stages that have passed with the same files are not run again (AGAIN=1 runs them)
# The environment of Python is made while cargo compiles; then nothing is compiled any more, and tests run side by side.
test: tools
	cargo fmt --all --check
	$(MAKE) deny
	# Two at a time, and a second compiler for cargo, which takes its turns from make.
	$(MAKE) --jobs 3 built .venv/ready
	$(MAKE) stage-rust
	$(MAKE) --jobs 2 --output-sync stage-python stage-package stage-cobaya stage-docs

# What each stage depends on.
FILES_rust = crates gallery benches python/src docs examples tests README.md ARCHITECTURE.md
FILES_python = crates tests/python
FILES_package = crates python examples pyproject.toml
FILES_cobaya = $(FILES_package)
FILES_docs = .
# By a make of its own, which takes no turns from this one: it has nothing to compile.
stage-%:
	@MAKEFLAGS= python3 scripts/stage.py $* $(FILES_$*) -- make --no-print-directory test-$*

# What towline-mpi needs to be built and run, and what looks at the report, in Debian's names.
MPI_PACKAGES = libopenmpi-dev openmpi-bin libclang-dev
MPI = $(shell command -v mpirun >/dev/null && command -v mpicc >/dev/null && echo yes)
WITHOUT_MPI = $(if $(MPI),,--exclude towline-mpi)

# Packages of the system are installed where CI asks for it (it sets CI), and nowhere else.
INSTALL = $(if $(CI),apt-get update && apt-get install --yes --no-install-recommends,false)

tools:
	@command -v chromium >/dev/null || ($(INSTALL) chromium) || echo 'no Chromium: the report is NOT tested in a browser' >&2
	@command -v wasm-opt >/dev/null || ($(INSTALL) binaryen) || echo 'no wasm-opt (Binaryen): the live pages are a fifth larger than need be' >&2
	@{ command -v mpirun && command -v mpicc; } >/dev/null 2>&1 || ($(INSTALL) $(MPI_PACKAGES)) \
		|| echo 'no MPI: towline-mpi is NOT tested; install $(MPI_PACKAGES), or the like' >&2

# One choice of packages and features for all that follows: with another, cargo compiles what is shared again.
EVERYTHING = --workspace $(WITHOUT_MPI) --features towline-cli/parquet,towline-python/extension-module
# The bench has no tests: it is linted, and built where it runs.
TESTED = $(EVERYTHING) --exclude towline-bench
# Of the examples only those that tests run: the others are linted, and compile the engine for their own targets.
TARGETS = --lib --bins --tests --example own_model $(if $(MPI),--example broken)

## built      lints, docs, and everything that tests run, compiled
built:
	cargo clippy $(EVERYTHING) --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc $(EVERYTHING) --no-deps
	$(MAKE) compiled

compiled:
	cargo build $(TESTED) $(TARGETS)

## test-rust  tests of all crates, side by side where cargo-nextest is installed
test-rust: compiled
	if cargo nextest --version >/dev/null 2>&1; then \
		cargo nextest run $(TESTED) $(TARGETS) --status-level slow --no-fail-fast; \
	else \
		cargo test $(TESTED) $(TARGETS) --no-fail-fast; \
	fi
	cargo test $(TESTED) --doc

## test-mpi   the tests of towline-mpi alone, under mpirun
test-mpi: tools
	cargo test --package towline-mpi

COMMAND = target/debug/towline

## test-python  ArviZ and GetDist read the exports (in .venv, made when needed)
test-python: .venv/ready compiled
	.venv/bin/python tests/python/exports.py $(COMMAND)

## package    the Python package, as it stands here, in .venv
package: .venv/ready compiled
	.venv/bin/python python/develop.py target/debug

## test-package  its tests
test-package: package
	.venv/bin/python -m pytest --quiet python/tests --ignore python/tests/cobaya

## test-cobaya  the Cobaya sampler and the CMB example
test-cobaya: package
	OMP_NUM_THREADS=1 .venv/bin/python -m pytest --quiet python/tests/cobaya

## test-docs  runs every block of README and the docs, and the notebooks with few draws; then builds the site
test-docs: package
	python3 docs/build/command.py --check $(COMMAND)
	python3 docs/build/tables.py --check
	python3 docs/tests/words.py
	python3 docs/tests/links.py
	.venv/bin/python docs/tests/run_blocks.py $(COMMAND)
	.venv/bin/python docs/tests/notebooks.py
	$(MAKE) docs

## docs       the site, into target/site; warnings are errors
docs: .venv/ready live
	NO_MKDOCS_2_WARNING=1 .venv/bin/mkdocs build --strict
	python3 docs/live/install.py target/site/live $$(ls $(SMALL) 2>/dev/null || echo $(WASM))
	RUSTDOCFLAGS="-D warnings" cargo doc $(EVERYTHING) --no-deps
	cp -r target/doc target/site/rust
	python3 docs/tests/check_site.py target/site

WASM_TARGET = wasm32-unknown-unknown
WASM = target/$(WASM_TARGET)/live/towline_live.wasm
# What Rust uses of WebAssembly today, and no more: what comes out must be valid in every browser.
WASM_FEATURES = --enable-bulk-memory --enable-sign-ext --enable-mutable-globals --enable-nontrapping-float-to-int --enable-reference-types --enable-multivalue --enable-simd
# A sixth smaller, where Binaryen's wasm-opt is installed; cargo must find its own file as it left it.
SMALL = target/$(WASM_TARGET)/live/towline_small.wasm

## live       the engine for the live pages, as WebAssembly; the site has these pages only where Rust can compile to it
live:
	@rustup target list --installed 2>/dev/null | grep -q $(WASM_TARGET) || rustup target add $(WASM_TARGET) >/dev/null 2>&1 || true
	@if rustup target list --installed 2>/dev/null | grep -q $(WASM_TARGET); then \
		cargo build --package towline-live --lib --target $(WASM_TARGET) --profile live \
			|| { rm -f $(WASM); echo 'the engine does not build for a browser: the live pages are NOT built' >&2; }; \
		rm -f $(SMALL); \
		if [ -f $(WASM) ] && command -v wasm-opt >/dev/null; then \
			wasm-opt -Oz $(WASM_FEATURES) $(WASM) -o $(SMALL) || { rm -f $(SMALL); echo 'wasm-opt failed: the engine is as cargo left it' >&2; }; \
		fi; \
	else \
		rm -f $(WASM) $(SMALL); \
		echo 'no $(WASM_TARGET) for this Rust: the live pages are NOT built; `rustup target add $(WASM_TARGET)` installs it' >&2; \
	fi

## test-live  the live pages in headless Chromium: their draws are the command's (after `make docs`)
test-live: compiled
	@if [ -f $(WASM) ] && command -v chromium >/dev/null; then \
		python3 docs/tests/live.py $(COMMAND) target/site; \
	else \
		echo 'no Chromium, or no $(WASM_TARGET): the live pages are NOT tested' >&2; \
	fi

## wheels     the Python package as a wheel and a source distribution, in target/wheels (minutes)
wheels:
	python3 scripts/wheels.py

## static     the command as one static binary for any Linux, in target/static (minutes; Rust's musl target is added when needed)
static:
	python3 scripts/static.py

## deny       licences and sources of all crates by the rules of deny.toml; by cargo-deny too, where it is installed
deny:
	python3 scripts/crates.py
	if cargo deny --version >/dev/null 2>&1; then cargo deny --offline check licenses bans sources; fi

# What the Rust API is compared with: the last release that has a tag; while there is none, the last commit of version 0.1.
SINCE = $(or $(BASELINE),$(shell git describe --tags --abbrev=0 --match 'v[0-9]*' 2>/dev/null),0030e8b2606072f4ed2e4c2033cdf6e040f5ea56)

## semver     fails where the Rust API breaks more than its version says, by cargo-semver-checks (BASELINE=REV or BASELINE=registry instead of the last release; LIKE=minor lists all that breaks)
semver:
	@cargo semver-checks --version >/dev/null 2>&1 || { echo 'no cargo-semver-checks: cargo install cargo-semver-checks --locked' >&2; exit 1; }
	cargo semver-checks --package towline --package towline-models $(if $(filter-out registry,$(SINCE)),--baseline-rev $(SINCE)) $(if $(LIKE),--release-type $(LIKE))

# Exact versions of all packages, so that nothing is looked for; without bytecode, most of which nobody needs.
# With mpi4py where there is an MPI to build or run it with: without one, tests under mpirun are left out.
.venv/ready: tests/python/requirements.lock
	python3 -m venv .venv
	.venv/bin/pip install --quiet --no-deps --no-compile --requirement $<
	$(if $(MPI),.venv/bin/pip install --quiet mpi4py || )echo 'no mpi4py: the package is not tested under mpirun' >&2
	touch $@

## lock       writes the lock file anew from the names in tests/python/requirements.in, with the versions of today
lock:
	python3 -m venv target/lock
	target/lock/bin/pip install --quiet --requirement tests/python/requirements.in
	{ echo '# All packages of .venv, by `make lock` from requirements.in.'; target/lock/bin/pip freeze; } > tests/python/requirements.lock

## figures    all that pages show of what this engine does: pictures, the table of frames, the tutorials' output, the notebooks (a quarter of an hour; needs Chromium)
# One build for the command and the package: maturin would choose other features of what they share, and compile it again.
figures: .venv/ready
	cargo build --release --package towline-cli --package towline-python --features towline-python/extension-module
	.venv/bin/python python/develop.py target/release
	target/release/towline paper --frames --out target/paper --json target/paper.json
	cp target/paper/frames.png docs/figures/frames.png
	python3 docs/figures/frames.py target/paper.json
	.venv/bin/python docs/figures/tutorials.py target/release/towline
	.venv/bin/python docs/figures/drag.py docs/figures/drag.png
	.venv/bin/python docs/figures/weights.py target/release/towline docs/figures/weights.png
	target/release/towline fit examples/glmm_toenail/model.toml --chains 2 --draws 6000 --out target/toenail --force --quiet
	target/release/towline fit examples/glmm_epil/model.toml --chains 2 --draws 4000 --out target/epil --force --quiet
	.venv/bin/python docs/figures/mixed.py target/toenail target/epil docs/figures/mixed.png
	.venv/bin/python docs/tests/notebooks.py --write
	python3 docs/build/tables.py

## test-long  the statistical tests with many more draws (tens of minutes)
test-long: tools
	TOWLINE_LONG=1 cargo test --package towline --test all -- --nocapture --test-threads 2 frames:: warmup:: run::
	TOWLINE_LONG=1 cargo test --package towline-cli --test all -- --nocapture --test-threads 2 run::
	TOWLINE_LONG=1 cargo test --package towline-models --test sbc -- --nocapture --test-threads 2
	TOWLINE_LONG=1 cargo test --package towline-models --test all -- --nocapture fuzz::
	TOWLINE_LONG=1 $(MAKE) test-mpi test-package test-cobaya

## check-data  fits every data set, and compares with other programs' results (some minutes; docs/figures/check.csv where all data are there)
check-data:
	cargo build --release
	python3 tests/data/check.py target/release/towline --figures docs/figures/check.csv
	python3 docs/build/tables.py

## gallery    samples every target of the gallery with eight seeds, nothing set, and judges it (target/gallery.json; CONTINUE=1 continues an interrupted one)
gallery:
	cargo run --release --package towline-gallery --bin towline-gallery -- $(if $(CONTINUE),--continue)

## estimates   replicated estimates by weights on targets whose moments and constants are known: z-scores and costs (half an hour)
estimates:
	cargo run --release --package towline-gallery --bin estimates

## sensitivity  halves and doubles the constants of judgement that matter most, over known targets (ten minutes; docs/figures/sensitivity.csv)
sensitivity:
	python3 scripts/sensitivity.py
	python3 docs/build/tables.py

## gallery-page  the docs' page of it and README's table, from target/gallery.json
gallery-page: .venv/ready
	.venv/bin/python docs/build/gallery.py target/gallery.json target/gallery-draws.json docs
	python3 docs/build/tables.py

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

## bench-workers  what workers save in warm-up and weights where slow evaluations sleep (three minutes, after an optimised build)
bench-workers: .venv/ready
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --release --quiet
	.venv/bin/python python/benches/workers.py --out docs/figures/workers.csv
	python3 docs/build/tables.py

## bench-cobaya  beside Cobaya's own mcmc: the report's tests, and the emulated CMB posterior of $(TOWLINE_CMB_DATA) (half an hour)
bench-cobaya: .venv/ready
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --release --quiet
	OMP_NUM_THREADS=1 .venv/bin/python benches/peers/cobaya_all.py --out docs/figures
	python3 docs/build/tables.py

## bench-evidence  the evidence of the emulated CMB posterior of $(TOWLINE_CMB_DATA) beside a nested sampler's (a quarter of an hour)
bench-evidence: .venv/ready
	VIRTUAL_ENV=$(CURDIR)/.venv .venv/bin/maturin develop --release --quiet
	.venv/bin/pip install --quiet nautilus-sampler==1.0.6
	.venv/bin/python benches/peers/evidence_cmb.py towline $(TOWLINE_CMB_DATA) docs/figures/evidence.csv 1 2 3 4
	.venv/bin/python benches/peers/evidence_cmb.py nautilus $(TOWLINE_CMB_DATA) docs/figures/evidence.csv 1
	.venv/bin/python benches/peers/evidence_cmb.py quick $(TOWLINE_CMB_DATA) docs/figures/evidence.csv 1 2 3 4
	.venv/bin/python benches/peers/evidence_cmb.py reference $(TOWLINE_CMB_DATA) docs/figures/evidence.csv 1
	python3 docs/build/tables.py

## bench-peers  beside NUTS on the same models, priors and data (half an hour; in .venv-peers, made when needed)
bench-peers: .venv-peers/ready
	cargo build --release
	.venv-peers/bin/python benches/peers/compare.py target/release/towline --out docs/figures/peers.csv
	python3 docs/build/tables.py

.venv-peers/ready: benches/peers/requirements.txt
	python3 -m venv .venv-peers
	.venv-peers/bin/pip install --quiet --requirement $<
	touch $@
