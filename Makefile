# What is built, tested and packaged, and how; `make` alone lists the targets.

SHELL := /bin/sh
# A fresh Rust installation may not be in PATH yet.
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

# The oldest Rust that works stands in Cargo.toml.
RUST_MIN := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
# `make run ARGS="--link 10mbit --qdisc bode,codel"` runs another comparison.
ARGS ?= --trace synth-lte-driving
# Seconds for each fuzz target, and cases for each property.
FUZZ_SECONDS ?= 60
FUZZ_CASES ?= 20000
# Seconds of coverage-guided fuzzing, all targets together.
GUIDED_SECONDS ?= 60
# New cases of differential tests for each hundred fixed ones.
FUZZ_FRESH ?= 1000

# Not through `cargo run`: its own CPU time would count as that of the command.
QDELAY := $(or $(CARGO_TARGET_DIR),target)/release/qdelay

.DEFAULT_GOAL := help

# Where `make install` puts the command, its manual pages and the completions of shells. DESTDIR stands before it, for packages.
PREFIX ?= /usr/local
DESTDIR ?=
# Whether it also makes mm-link, mm-delay and mm-loss; with `no`, mahimahi's own programs elsewhere in PATH are the ones found. And where.
MAHIMAHI ?= yes
MAHIMAHI_BIN ?= $(PREFIX)/bin
MAHIMAHI_NAMES := mm-link mm-delay mm-loss

.PHONY: help run install uninstall built tarball deb deb-try container dist test ready browser lab packager build playground release package wheel python bench bench-real stream soak row check fingerprints fingerprints-check pictures matrix statistics instructions instructions-renew fuzz mutants validate clean rust

help:
	@echo "make run       build and run the main job: five queue disciplines, Cubic and BBR, a cellular link;"
	@echo "               then a scenario, with a report to look at in a browser"
	@echo "               (make run ARGS=\"--trace FILE\" for another; see 'qdelay compare --help')"
	@echo "make test      check, then every test; ends with those that the machine could not run, and the counts."
	@echo "               As root on Debian it installs chromium, poppler-utils, ffmpeg, nodejs, npm, qemu-system-x86, python3-venv, dpkg-dev, binutils, lintian,"
	@echo "               shellcheck where they are missing, and says so"
	@echo "               before; QDELAY_INSTALL=no: it does not. QDELAY_REQUIRE=net,browser,stream,traces,lab,python: none of these is skipped"
	@echo "make build     the command, optimized: target/release/qdelay"
	@echo "make playground  the simulator in a page without a server: target/playground/index.html (rustup's target wasm32-unknown-unknown)"
	@echo "make docs      the documentation as a site, with the playground in it: target/site/index.html (Python 3.11 with venv; packages by pip)"
	@echo "make release   the command for packages: built twice, the second time for the ways that the first took (rustup's llvm-tools)"
	@echo "make install   the command, manual pages, completions of bash, zsh and fish, and the header for components in C, under PREFIX=$(PREFIX) (DESTDIR for packages)"
	@echo "               and the names mm-link, mm-delay and mm-loss (MAHIMAHI=no: without them); 'make uninstall' removes all of it"
	@echo "make deb       a Debian package of the command: target/packages (dpkg-dev, binutils, python3); 'make tarball': an archive for packaging/install.sh"
	@echo "make deb-try   that package in a fresh Debian: installed, run, removed (root, debootstrap); 'make container': an image of it (podman too)"
	@echo "make dist      all files of a release, without the upload: packaging/release --help (DIST=\"--dry-run --without wheel\")"
	@echo "make package   a package of each crate, built from what is in it: target/package"
	@echo "make wheel     the Python package, with the command in it, and its sources: target/wheels (needs maturin); fails from $(WHEEL_MAX_KB) kB on"
	@echo "make check     formatting, lints, documentation; warnings are errors"
	@echo "make bench-real  real packets: speed beside a bare copy loop, and lateness (root; a quiet machine, about two minutes)"
	@echo "make row       ROW_LINKS=$(ROW_LINKS) links in a row with iperf3 behind each (root, iperf3)"
	@echo "make soak      links under load for SOAK_SECONDS=$(SOAK_SECONDS), memory and files watched (root)"
	@echo "make bench     cost of each discipline and of the path; packets per CPU-second of a dumbbell"
	@echo "make fingerprints  writes the digests of all figures anew; 'git diff' then says which have moved (make fingerprints-check compares)"
	@echo "make instructions  instructions for a packet, a TTI, a decision, beside benches/instructions.tsv (valgrind; ...-renew writes it)"
	@echo "make pictures  writes tables, outputs and pictures of docs/algorithms anew, by the commands on its pages; tests compare"
	@echo "make matrix  every transport over every discipline on twenty links, twice: minutes"
	@echo "make statistics  how often intervals over seeds hold, and stars are right: the table of docs/measures.md (minutes)"
	@echo "make fuzz      every test, fuzz targets for FUZZ_SECONDS=$(FUZZ_SECONDS) each, properties with FUZZ_CASES=$(FUZZ_CASES);"
	@echo "               then GUIDED_SECONDS=$(GUIDED_SECONDS) guided by coverage, where there is cargo-fuzz (fuzz/README.md)"
	@echo "make mutants   a random sample of mutants of the pure crates: MUTANTS=$(MUTANTS) MUTANTS_SEED=$(MUTANTS_SEED) (hours; goes on where it was ended)"
	@echo "make validate  our figures beside those of a Linux kernel, mahimahi and ns-3"
	@echo "make clean     delete what was built"

run: build
	@$(QDELAY) compare $(ARGS)
	@echo
	@$(QDELAY) run demo/first --fresh

build: rust
	cargo build --release --locked --package qdelay

# One file: the page with the simulator as WebAssembly in it.
WASM := wasm32-unknown-unknown
PLAYGROUND := $(or $(CARGO_TARGET_DIR),target)
playground: rust
	@[ -d "$$(rustc --print target-libdir --target $(WASM))" ] || rustup target add $(WASM) \
		|| { echo "make: needs Rust's target $(WASM); 'rustup target add $(WASM)' gets it" >&2; exit 1; }
	cargo build --locked --package qdelay-web --lib --profile playground --target $(WASM)
	@crates/qdelay-web/bundle $(PLAYGROUND)/$(WASM)/playground/qdelay_web.wasm $(PLAYGROUND)/playground/index.html

# In an environment of Python of its own, below target/docs. Links within the site and the repository are checked; those to elsewhere are listed.
.PHONY: docs
docs: build playground
	@docs/site/build || { status=$$?; [ $$status != 77 ] || echo "make: the site needs Python 3.11 or newer with venv, and packages of its index" >&2; exit $$status; }

# Builds only where there is no command yet: root, who installs, often has no Rust. Pages and completions are written by the command
# that is installed.
BIN := $(DESTDIR)$(PREFIX)/bin
SHARE := $(DESTDIR)$(PREFIX)/share
install:
	@[ -x $(QDELAY) ] || $(MAKE) --no-print-directory build
	install -d $(BIN) $(DESTDIR)$(PREFIX)/include $(SHARE)/man/man1 $(SHARE)/bash-completion/completions $(SHARE)/zsh/site-functions $(SHARE)/fish/vendor_completions.d
	install -m 755 $(QDELAY) $(BIN)/qdelay
	@[ $(MAHIMAHI) = no ] || { install -d $(DESTDIR)$(MAHIMAHI_BIN) && for name in $(MAHIMAHI_NAMES); do \
		ln -srf $(BIN)/qdelay $(DESTDIR)$(MAHIMAHI_BIN)/$$name || exit 1; done; }
	$(BIN)/qdelay list --header > $(DESTDIR)$(PREFIX)/include/qdelay_component.h
	$(BIN)/qdelay man $(SHARE)/man/man1
	$(BIN)/qdelay completions bash > $(SHARE)/bash-completion/completions/qdelay
	$(BIN)/qdelay completions zsh > $(SHARE)/zsh/site-functions/_qdelay
	$(BIN)/qdelay completions fish > $(SHARE)/fish/vendor_completions.d/qdelay.fish

# What `make install` has put there, with the same variables. Of mahimahi's names only links to the command: a file is mahimahi's own.
uninstall:
	@for name in $(MAHIMAHI_NAMES); do link=$(DESTDIR)$(MAHIMAHI_BIN)/$$name; \
		case "$$(readlink "$$link")" in qdelay | */qdelay) rm -f "$$link" || exit 1;; esac; done
	rm -f $(BIN)/qdelay $(DESTDIR)$(PREFIX)/include/qdelay_component.h $(SHARE)/man/man1/qdelay.1 $(SHARE)/man/man1/qdelay-*.1
	rm -f $(SHARE)/bash-completion/completions/qdelay $(SHARE)/zsh/site-functions/_qdelay $(SHARE)/fish/vendor_completions.d/qdelay.fish

# Packages of the command, out of the scripts of packaging/, which say what each needs. The same command and commit make the same bytes.
PACKAGES := $(or $(CARGO_TARGET_DIR),target)/packages
DIST ?=
built:
	@[ -x $(QDELAY) ] || $(MAKE) --no-print-directory build

tarball: built
	@packaging/tarball $(QDELAY) $(PACKAGES)

# One at a time: the name has the commit, as long as the version is not released.
DEB = rm -f $(PACKAGES)/qdelay_*.deb; packaging/deb $(QDELAY) $(PACKAGES)
deb: built
	@$(DEB)

deb-try: built
	@deb=$$($(DEB)) && packaging/deb-try "$$deb" $(QDELAY)

container: built
	@deb=$$($(DEB)) && packaging/container "$$deb" $(QDELAY) $(PACKAGES)

dist:
	@packaging/release $(DIST)

# Ends with what was skipped, and "N passed, N failed, N skipped". Everything is built by one call of cargo, the suite itself too:
# alone it would have dependencies with other features, built for it again.
BUILD_TESTS = cargo test --workspace --locked --tests --no-run --quiet
# Some tests send an interrupt, which is ignored where make was started in the background: children inherit that.
SIGNALS := $(shell env --default-signal=HUP,INT,QUIT true 2>/dev/null && echo env --default-signal=HUP,INT,QUIT)
SUITE = $(SIGNALS) $(or $(CARGO_TARGET_DIR),target)/debug/qdelay-testing suite --workspace --locked
test: ready
	@$(SUITE)

# All of it but the tests themselves.
ready: check browser stream lab python packager
	@$(BUILD_TESTS)

# The report is tested in a real one, and a stream is played behind a link. Root gets what is missing, after a moment in which to say
# no; QDELAY_INSTALL=no says it before. Without, the tests are skipped.
INSTALL = install() { \
		if [ "$${QDELAY_INSTALL:-}" = no ] || [ "$$(id -u)" != 0 ] || ! command -v apt-get >/dev/null 2>&1; then \
			echo "make: no $$1: $$2"; return; fi; \
		echo "make: no $$1; about to install, with apt-get:" $$3 "(QDELAY_INSTALL=no: nothing is installed, and $$2)"; \
		if [ -t 1 ]; then echo "make: Ctrl-C within 10 s ends this"; sleep 10; fi; \
		{ apt-get update -qq; apt-get install -qq -y --no-install-recommends $$3; } >/dev/null 2>&1 \
			|| echo "make: apt-get could not: $$2"; \
	}

browser:
	@$(INSTALL); for name in chromium chromium-browser google-chrome "$${QDELAY_BROWSER:-none}"; do \
			command -v "$$name" >/dev/null 2>&1 && command -v pdftoppm >/dev/null 2>&1 && exit 0; done; \
		install "browser or pdftoppm" "the report is not tested in one, or not its PDF" "chromium poppler-utils"

stream:
	@$(INSTALL); missing=; for pair in ffmpeg:ffmpeg node:nodejs npm:npm; do \
			command -v "$${pair%%:*}" >/dev/null 2>&1 || missing="$$missing $${pair#*:}"; done; \
		[ -z "$$missing" ] || install "$${missing# }" "no stream is played behind a link" "$$missing"
	@# The player's rules are the simulator's, as WebAssembly; so is the playground.
	@rustup target add wasm32-unknown-unknown >/dev/null 2>&1 || true

lab:
	@$(INSTALL); command -v qemu-system-x86_64 >/dev/null 2>&1 && exit 0; \
		install "QEMU" "nothing is run in the laboratory" "qemu-system-x86"

python:
	@$(INSTALL); python3 -c 'import ensurepip, venv' 2>/dev/null && exit 0; \
		install "Python with environments" "the Python package is not tested" "python3 python3-venv"

packager:
	@$(INSTALL); missing=; for pair in dpkg-shlibdeps:dpkg-dev strip:binutils lintian:lintian shellcheck:shellcheck; do \
			command -v "$${pair%%:*}" >/dev/null 2>&1 || missing="$$missing $${pair#*:}"; done; \
		[ -z "$$missing" ] || install "$${missing# }" "packages are not made, or not judged" "$$missing"

# For every glibc from 2.17 where there is zig ('pip install maturin[zig]'), else from that of this machine. And the sources, of which pip builds
# where no wheel fits.
# Every job of a cluster downloads it: megabytes. WHEEL_TARGET is another machine, such as aarch64-unknown-linux-gnu (zig, and the target of rustup).
WHEEL_MAX_KB := 7200
WHEELS := target/wheels
WHEEL = maturin build --manifest-path crates/qdelay-py/Cargo.toml --profile wheel --compression-level 9 --out $(WHEELS)$(if $(WHEEL_TARGET), --target $(WHEEL_TARGET))
wheel: rust
	@mkdir -p $(WHEELS); rm -f $(WHEELS)/qdelay-*
	@if python3 -m ziglang version >/dev/null 2>&1; then $(WHEEL) --zig --compatibility manylinux_2_17; else $(WHEEL); fi
	@maturin sdist --manifest-path crates/qdelay-py/Cargo.toml --out $(WHEELS)
	@for wheel in $(WHEELS)/qdelay-*.whl; do \
		bytes=$$(wc -c < "$$wheel"); \
		echo "make: $$wheel: $$((bytes / 1000)) kB"; \
		[ $$bytes -lt $$(($(WHEEL_MAX_KB) * 1000)) ] || { \
			echo "make: $$wheel: expected less than $(WHEEL_MAX_KB) kB" >&2; exit 1; }; \
	done

check: rust
	@cargo fmt --version >/dev/null 2>&1 && cargo clippy --version >/dev/null 2>&1 \
		|| rustup component add rustfmt clippy \
		|| { echo "make: needs rustfmt and clippy of the Rust in use; 'rustup component add rustfmt clippy' gets them" >&2; exit 1; }
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked -- -D warnings
	@# Without the command: its doc comments are help texts, where brackets are no links.
	RUSTDOCFLAGS="-D warnings" cargo doc --workspace --no-deps --locked --quiet

# The command as packages should have it, optimized for what it does most. It is built twice: to see which ways are taken in what TRAINING
# has, and for these ways. (Status 1 of a benchmark says that a target in time was missed, as it is with counters.) Another directory than that of `make build`, so that neither makes the other build anew.
RELEASE := $(abspath $(or $(CARGO_TARGET_DIR),target))/tuned
TRAINING = "dumbbell --qdisc codel" "dumbbell --qdisc taildrop" "dumbbell --qdisc bode" "dumbbell --qdisc fq_codel" \
	"dumbbell --qdisc pie --transport bbr" "dumbbell --flows 500 --qdisc codel" "cell --ues 20 --duration 3s" \
	"eqp --queues 64 --ttis 2000" "papers --runs 1"
release: rust
	@rustup component add llvm-tools >/dev/null 2>&1 || true
	@profdata=$$(find "$$(rustc --print sysroot)" -name llvm-profdata -type f | head -n 1); \
	if [ -z "$$profdata" ]; then \
		echo "make: needs llvm-profdata of the Rust in use; 'rustup component add llvm-tools' gets it" >&2; exit 1; \
	fi; \
	set -e; rm -rf "$(RELEASE)/profile"; \
	RUSTFLAGS="-Cprofile-generate=$(RELEASE)/profile" CARGO_TARGET_DIR="$(RELEASE)/seen" cargo build --release --locked --package qdelay; \
	for job in $(TRAINING); do \
		echo "make: qdelay bench $$job"; \
		"$(RELEASE)/seen/release/qdelay" bench $$job --json >/dev/null || [ $$? = 1 ]; \
	done; \
	"$$profdata" merge -o "$(RELEASE)/all.profdata" "$(RELEASE)/profile"/*.profraw; \
	RUSTFLAGS="-Cprofile-use=$(RELEASE)/all.profdata" CARGO_TARGET_DIR="$(RELEASE)" cargo build --release --locked --package qdelay; \
	echo "make: $(RELEASE)/release/qdelay ('make install QDELAY=$(RELEASE)/release/qdelay' installs it)"

# Packages depend on each other by version. What only tests need is in none of them.
PUBLISHED := --workspace --exclude qdelay-testing --exclude qdelay-testing-macros --exclude qdelay-py
package: rust
	cargo package $(PUBLISHED) --locked

bench-real: build
	$(QDELAY) bench link
	$(QDELAY) bench link --punctual

# Links under load for half an hour, memory and file descriptors watched. As root.
ROW_LINKS ?= 100
row: rust
	QDELAY_ROW_LINKS=$(ROW_LINKS) cargo test --release --locked --package qdelay --test net link_row:: -- --include-ignored --nocapture

SOAK_SECONDS ?= 1800
soak: rust
	QDELAY_SOAK_SECONDS=$(SOAK_SECONDS) cargo test --release --locked --package qdelay --test net soak:: -- --ignored --nocapture

bench: build
	cargo bench --workspace --locked --bench '*'
	@echo
	@echo "Dumbbell: 20 flows of Cubic, CoDel, 60 s, whole process"
	@for run in 1 2 3 4 5; do $(QDELAY) bench dumbbell --json || exit 1; done \
		| sed -n 's/.*"packets_per_cpu_second": \([0-9]*\).*/\1/p' | sort -n \
		| awk '{ all = all " " $$1; if (NR == 3) median = $$1 } \
			END { if (NR != 5) exit 1; print "packets per CPU-second: median " median " of" all }'
	@echo "Cell: 100 UEs x 4 bearers, 100 PRB, 1 ms, a download and a call each, e5g-bdp"
	@for run in 1 2 3; do $(QDELAY) bench cell || exit 1; done
	@echo "Slices: a decision of the elastic quantum partition"
	@$(QDELAY) bench eqp
	@echo "Papers: runs of theirs, beside ns-3"
	@$(QDELAY) bench papers
	@echo "Memory and speed by simulated time:"
	@for seconds in 10 100 1000; do $(QDELAY) bench dumbbell --duration $${seconds}s --json || exit 1; done \
		| sed -n -e 's/.*"packets_per_cpu_second": \([0-9]*\).*/speed \1/p' \
			-e 's/.*"max_rss_mb": \([0-9.]*\).*/memory \1/p' -e 's/.*"duration_s": \([0-9]*\).*/time \1/p' \
		| awk '$$1 == "speed" { speed = $$2 } $$1 == "memory" { memory = $$2 } \
			$$1 == "time" { print "  " $$2 " s: " speed " packets per CPU-second, " memory " MB" }'

	@echo "With a row for every packet (--packets), beside without:"
	@for run in 1 2 3; do $(QDELAY) bench dumbbell --duration 120s --json || exit 1; \
			$(QDELAY) bench dumbbell --duration 120s --packets "$${TMPDIR:-/tmp}/qdelay-bench.parquet" --json || exit 1; done \
		| sed -n -e 's/.*"packets_per_cpu_second": \([0-9]*\).*/speed \1/p' -e 's/.*"max_rss_mb": \([0-9.]*\).*/memory \1/p' \
		| awk '$$1 == "speed" { side = !side; sum[side] += $$2 } $$1 == "memory" { memory = $$2 } \
			END { print "  " sum[0] / sum[1] " of the speed, " memory " MB" }'
	@rm -f "$${TMPDIR:-/tmp}/qdelay-bench.parquet"

# Figures by digest, those of minutes included.
FINGERPRINTS = cargo test --quiet --locked --package qdelay --package qdelay-emu --test main fingerprints:: -- --include-ignored
fingerprints: build
	QDELAY_REGENERATE=1 QDELAY_COMMAND="$(abspath $(QDELAY))" $(FINGERPRINTS)
	@git diff --stat -- 'crates/*/tests/fingerprints' 2>/dev/null || true

fingerprints-check: build
	QDELAY_COMMAND="$(abspath $(QDELAY))" $(FINGERPRINTS)

# One test at a time: two of them write to the same pages.
pictures: rust
	QDELAY_REGENERATE=1 cargo test --quiet --locked --package qdelay --test main algorithms:: -- --test-threads=1
	@git diff --stat -- docs/algorithms 2>/dev/null || true

# Of the command as it is shipped: thousands of cases.
matrix: build
	QDELAY_COMMAND="$(abspath $(QDELAY))" cargo test --quiet --locked --package qdelay --test main transports:: -- --include-ignored --nocapture

# The table of docs/measures.md: simulations by the thousand.
statistics: rust
	cargo test --quiet --locked --package qdelay-study --test main statistics:: -- --include-ignored --nocapture

# Under valgrind, of the command as it is shipped. The test is that of the workspace: of its package alone it would have dependencies with other
# features, built for it again.
INSTRUCTIONS = QDELAY_COMMAND="$(abspath $(QDELAY))" \
	cargo test --quiet --locked --workspace --test main instructions:: -- --include-ignored --nocapture
instructions:
	@if command -v valgrind >/dev/null 2>&1; then $(MAKE) --no-print-directory build && $(INSTRUCTIONS); \
	else echo "make: no valgrind: instructions are not counted"; fi

instructions-renew: build
	QDELAY_REGENERATE=1 $(INSTRUCTIONS)

# Every test, with parsers under arbitrary bytes and properties over random operations for longer, and traces of 2 GB; then what
# coverage guides, where cargo-fuzz and a nightly toolchain are.
fuzz: rust
	@$(BUILD_TESTS)
	@QDELAY_TEST_LIMIT=$${QDELAY_TEST_LIMIT:-0} QDELAY_FUZZ_SECONDS=$(FUZZ_SECONDS) PROPTEST_CASES=$(FUZZ_CASES) QDELAY_FRESH=$(FUZZ_FRESH) $(SUITE)
	cargo test --package qdelay-trace --locked --test main large:: -- --ignored
	fuzz/run $(GUIDED_SECONDS)

# How many of a random sample of mutants the tests kill. Hours; goes on where it was interrupted.
MUTANTS ?= 100
MUTANTS_SEED ?= 1
mutants: rust
	.ci/mutants $(MUTANTS) $(MUTANTS_SEED)

# All even if one fails; the status is that of the worst.
validate: build
	@status=0; for reference in kernel rates fq mahimahi ns3 radio; do \
		$(QDELAY) validate $$reference || status=$$?; echo; \
	done; exit $$status

clean: rust
	cargo clean

# Says what is missing, before a build fails with something less clear.
rust:
	@command -v cargo >/dev/null 2>&1 || { \
		echo "make: needs Rust $(RUST_MIN) or newer, and there is no cargo in PATH or ~/.cargo/bin; https://rustup.rs has it" >&2; \
		exit 1; }
	@version=$$(rustc --version | cut -d' ' -f2); \
		oldest=$$(printf '%s\n%s\n' "$(RUST_MIN)" "$$version" | sort -V | head -n1); \
		[ "$$oldest" = "$(RUST_MIN)" ] || { \
		echo "make: needs Rust $(RUST_MIN) or newer, and rustc is $$version; 'rustup update stable' gets the newest" >&2; \
		exit 1; }
	@command -v cc >/dev/null 2>&1 || { \
		echo "make: Rust needs a C linker, and there is no cc in PATH; on Debian: apt-get install gcc libc6-dev" >&2; \
		exit 1; }
