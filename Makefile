# What is built, tested and packaged, and how; `make` alone lists the targets.

SHELL := /bin/sh
# A fresh Rust installation may not be in PATH yet.
export PATH := $(PATH):$(or $(CARGO_HOME),$(HOME)/.cargo)/bin

# The oldest Rust that works stands in Cargo.toml.
RUST_MIN := $(shell sed -n 's/^rust-version = "\(.*\)"/\1/p' Cargo.toml)
# `make run ARGS="--link 10mbit --qdisc bode,codel"` runs another comparison.
ARGS ?= --trace synth-lte-driving
# How hard `make fuzz` tries, as a factor of the usual effort.
EFFORT ?= 40
# Seconds of coverage-guided fuzzing, all targets together.
GUIDED_SECONDS ?= 60
# `make quick BASE=REV` takes for changed what differs from another commit than the last.
BASE ?=
ENDS_ISSUE ?= no
# `make steady RUNS=50 LOAD=10`.
RUNS ?= 50
LOAD ?= 10

# How the command of a checkout is built: `local`, quick to build, or `release`, as packages have it.
PROFILE ?= local
TARGET := $(or $(CARGO_TARGET_DIR),target)
# Not through `cargo run`: its own CPU time would count as that of the command.
QDELAY = $(TARGET)/$(PROFILE)/qdelay
# Packages and benchmarks are of `release`.
built tarball deb deb-try container bench bench-real: PROFILE = release

.DEFAULT_GOAL := help

# Where `make install` puts the command, its manual pages and the completions of shells. DESTDIR stands before it, for packages.
PREFIX ?= /usr/local
DESTDIR ?=
# Whether it also makes mm-link, mm-delay and mm-loss; with `no`, mahimahi's own programs elsewhere in PATH are the ones found. And where.
MAHIMAHI ?= yes
MAHIMAHI_BIN ?= $(PREFIX)/bin
MAHIMAHI_NAMES := mm-link mm-delay mm-loss

.PHONY: help dev run install uninstall built tarball deb deb-try container dist quick test test-all ready parts landing steady build playground release package wheel bench bench-real soak row check fingerprints fingerprints-check pictures matrix statistics instructions instructions-renew fuzz mutants validate clean rust known

help:
	@echo "make run       build and run the main job: five queue disciplines, Cubic and BBR, a cellular link;"
	@echo "               then a scenario, with a report to look at in a browser"
	@echo "               (make run ARGS=\"--trace FILE\" for another; see 'qdelay compare --help')"
	@echo "make quick     at each save: formatting, lints and tests of the crates that changed and of the engine above them (BASE=REV)"
	@echo "make test      every test that needs nothing but Rust; ends with those that were skipped, and the counts"
	@echo "make test-all  every test, with browsers, a kernel in QEMU, Python, packages, instructions per packet. As root on Debian it installs"
	@echo "               what is missing, and says so before; QDELAY_INSTALL=no: it does not"
	@echo "               QDELAY_REQUIRE=net,browser,stream,traces,lab,python: none of these is skipped; CONTRIBUTING.md has all variables"
	@echo "make build     the command, optimized: $(QDELAY) (PROFILE=release: as packages have it, in twice the time)"
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
	@echo "make fuzz      every test of make test with EFFORT=$(EFFORT) times the usual random cases and seconds;"
	@echo "               then GUIDED_SECONDS=$(GUIDED_SECONDS) guided by coverage, where there is cargo-fuzz (fuzz/README.md)"
	@echo "make steady    tests that depend on real time, RUNS=$(RUNS) times beside LOAD=$(LOAD) busy threads"
	@echo "make parts     which tests beside those of make test .ci/run would run, and why; make landing BASE=COMMIT writes .ci/landing"
	@echo "make mutants   a random sample of mutants of the pure crates: MUTANTS=$(MUTANTS) MUTANTS_SEED=$(MUTANTS_SEED) (hours; goes on where it was ended)"
	@echo "make validate  our figures beside those of a Linux kernel, mahimahi and ns-3"
	@echo "make clean     delete what was built"

run: build
	@$(QDELAY) compare $(ARGS)
	@echo
	@$(QDELAY) run demo/first --fresh

build: rust
	cargo build --profile $(PROFILE) --locked --package qdelay

# The developers' command: figures beside references, and speed.
dev: rust
	cargo build --profile $(PROFILE) --locked --package qdelay-dev

# One file: the page with the simulator as WebAssembly in it.
WASM := wasm32-unknown-unknown
PLAYGROUND := $(TARGET)
playground: rust
	@[ -d "$$(rustc --print target-libdir --target $(WASM))" ] || rustup target add $(WASM) \
		|| { echo "make: needs Rust's target $(WASM); 'rustup target add $(WASM)' gets it" >&2; exit 1; }
	cargo build --locked --package qdelay-web --lib --profile playground --target $(WASM)
	@crates/qdelay-web/bundle $(PLAYGROUND)/$(WASM)/playground/qdelay_web.wasm $(PLAYGROUND)/playground/index.html

# In an environment of Python of its own, below target/docs. Links within the site and the repository are checked; those to elsewhere are listed.
.PHONY: docs
docs: build playground
	@QDELAY_COMMAND="$(abspath $(QDELAY))" docs/site/build || { status=$$?; [ $$status != 77 ] || echo "make: the site needs Python 3.11 or newer with venv, and packages of its index" >&2; exit $$status; }

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
PACKAGES := $(TARGET)/packages
DIST ?=
built:
	@[ -x $(QDELAY) ] || $(MAKE) --no-print-directory build PROFILE=$(PROFILE)

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

# Three loops, which end with what was skipped and "N passed, N failed, N skipped"; CONTRIBUTING.md says what each is for. All are built with the
# same features and the same profile, so that none compiles anew what another has.
BUILD_TESTS = cargo build --workspace --tests --bins --locked --quiet
# Some tests send an interrupt, which is ignored where make was started in the background: children inherit that.
SIGNALS := $(shell env --default-signal=HUP,INT,QUIT true 2>/dev/null && echo env --default-signal=HUP,INT,QUIT)
TESTING = $(SIGNALS) $(TARGET)/debug/qdelay-testing

quick: rust
	@cargo build --package qdelay-testing --bins --locked --quiet
	@$(TESTING) quick $(if $(BASE),--base $(BASE))

test: ready
	@$(TESTING) test

test-all: rust
	@.ci/tools all
	@$(MAKE) --no-print-directory check ready dev
	@QDELAY_OPTIMIZED="$(abspath $(QDELAY))-dev" $(TESTING) test-all

# What the tests are, built.
ready: rust
	@echo "make: building all tests"
	@$(BUILD_TESTS)

parts: ready
	@$(TESTING) parts

steady: ready
	@$(TESTING) steady --runs $(RUNS) --load $(LOAD)

# Written at the beginning of a change that is to land.
landing:
	@[ -n "$(BASE)" ] || { echo "make: landing: expected BASE=COMMIT, the commit that landed last" >&2; exit 2; }
	@case "$(ENDS_ISSUE)" in yes | no) ;; *) echo "make: ENDS_ISSUE=$(ENDS_ISSUE): expected yes or no" >&2; exit 2;; esac
	@base=$$(git rev-parse --verify --quiet "$(BASE)^{commit}") || { echo "make: BASE=$(BASE): no such commit" >&2; exit 2; }; \
		number=$$(git show "$$base:.ci/landing" 2>/dev/null | sed -n 's/^number //p'); \
		sed -e "s/^number .*/number $$(($${number:-0} + 1))/" -e "s/^base .*/base $$base/" -e "s/^ends-issue .*/ends-issue $(ENDS_ISSUE)/" \
			.ci/landing > .ci/landing.new && mv .ci/landing.new .ci/landing && grep -v '^#' .ci/landing

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
RELEASE := $(abspath $(TARGET))/tuned
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
	RUSTFLAGS="-Cprofile-generate=$(RELEASE)/profile" CARGO_TARGET_DIR="$(RELEASE)/seen" cargo build --release --locked --package qdelay-dev; \
	for job in $(TRAINING); do \
		echo "make: qdelay-dev bench $$job"; \
		"$(RELEASE)/seen/release/qdelay-dev" bench $$job --json >/dev/null || [ $$? = 1 ]; \
	done; \
	"$$profdata" merge -o "$(RELEASE)/all.profdata" "$(RELEASE)/profile"/*.profraw; \
	RUSTFLAGS="-Cprofile-use=$(RELEASE)/all.profdata" CARGO_TARGET_DIR="$(RELEASE)" cargo build --release --locked --package qdelay; \
	echo "make: $(RELEASE)/release/qdelay ('make install QDELAY=$(RELEASE)/release/qdelay' installs it)"

# Packages depend on each other by version. What only tests need is in none of them.
PUBLISHED := --workspace --exclude qdelay-testing --exclude qdelay-testing-macros --exclude qdelay-py --exclude 'own-*'
package: rust
	cargo package $(PUBLISHED) --locked

bench-real: dev
	$(QDELAY)-dev bench link
	$(QDELAY)-dev bench link --punctual

# Links under load for half an hour, memory and file descriptors watched. As root.
ROW_LINKS ?= 100
row: rust
	QDELAY_ROW_LINKS=$(ROW_LINKS) cargo test --profile $(PROFILE) --locked --package qdelay --test net link_row:: -- --include-ignored --nocapture

SOAK_SECONDS ?= 1800
soak: rust
	QDELAY_SOAK_SECONDS=$(SOAK_SECONDS) cargo test --profile $(PROFILE) --locked --package qdelay --test net soak:: -- --ignored --nocapture

bench: dev
	cargo bench --workspace --locked --bench '*'
	@echo
	@echo "Dumbbell: 20 flows of Cubic, CoDel, 60 s, whole process"
	@for run in 1 2 3 4 5; do $(QDELAY)-dev bench dumbbell --json || exit 1; done \
		| sed -n 's/.*"packets_per_cpu_second": \([0-9]*\).*/\1/p' | sort -n \
		| awk '{ all = all " " $$1; if (NR == 3) median = $$1 } \
			END { if (NR != 5) exit 1; print "packets per CPU-second: median " median " of" all }'
	@echo "Cell: 100 UEs x 4 bearers, 100 PRB, 1 ms, a download and a call each, e5g-bdp"
	@for run in 1 2 3; do $(QDELAY)-dev bench cell || exit 1; done
	@echo "Slices: a decision of the elastic quantum partition"
	@$(QDELAY)-dev bench eqp
	@echo "Papers: runs of theirs, beside ns-3"
	@$(QDELAY)-dev bench papers
	@echo "Memory and speed by simulated time:"
	@for seconds in 10 100 1000; do $(QDELAY)-dev bench dumbbell --duration $${seconds}s --json || exit 1; done \
		| sed -n -e 's/.*"packets_per_cpu_second": \([0-9]*\).*/speed \1/p' \
			-e 's/.*"max_rss_mb": \([0-9.]*\).*/memory \1/p' -e 's/.*"duration_s": \([0-9]*\).*/time \1/p' \
		| awk '$$1 == "speed" { speed = $$2 } $$1 == "memory" { memory = $$2 } \
			$$1 == "time" { print "  " $$2 " s: " speed " packets per CPU-second, " memory " MB" }'

	@echo "With a row for every packet (--packets), beside without:"
	@for run in 1 2 3; do $(QDELAY)-dev bench dumbbell --duration 120s --json || exit 1; \
			$(QDELAY)-dev bench dumbbell --duration 120s --packets "$${TMPDIR:-/tmp}/qdelay-bench.parquet" --json || exit 1; done \
		| sed -n -e 's/.*"packets_per_cpu_second": \([0-9]*\).*/speed \1/p' -e 's/.*"max_rss_mb": \([0-9.]*\).*/memory \1/p' \
		| awk '$$1 == "speed" { side = !side; sum[side] += $$2 } $$1 == "memory" { memory = $$2 } \
			END { print "  " sum[0] / sum[1] " of the speed, " memory " MB" }'
	@rm -f "$${TMPDIR:-/tmp}/qdelay-bench.parquet"

# Figures by digest, those of minutes included.
FINGERPRINTS = cargo test --quiet --locked --package qdelay --package qdelay-dev --package qdelay-emu --test main fingerprints:: -- --include-ignored
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

# Under valgrind, of the command of `make build`.
INSTRUCTIONS = QDELAY_OPTIMIZED="$(abspath $(QDELAY))-dev" $(TESTING) suite --locked -- instructions::jobs_need_no_more_instructions_than_committed --nocapture
instructions: dev ready
	@if command -v valgrind >/dev/null 2>&1; then $(INSTRUCTIONS); else echo "make: no valgrind: instructions are not counted"; fi

instructions-renew: dev ready
	@QDELAY_REGENERATE=1 $(INSTRUCTIONS)

# Every test with more random cases and longer fuzz targets, and traces of 2 GB; then what coverage guides, where cargo-fuzz and a nightly
# toolchain are.
fuzz: ready
	@QDELAY_TEST_LIMIT=$${QDELAY_TEST_LIMIT:-0} QDELAY_EFFORT=$(EFFORT) $(TESTING) test
	$(TESTING) suite --locked -- large:: --ignored
	fuzz/run $(GUIDED_SECONDS)

# How many of a random sample of mutants the tests kill. Hours; goes on where it was interrupted.
MUTANTS ?= 100
MUTANTS_SEED ?= 1
mutants: rust
	.ci/mutants $(MUTANTS) $(MUTANTS_SEED)

# All even if one fails; the status is that of the worst.
validate: dev
	@status=0; for reference in kernel rates fq mahimahi leo ns3 radio netem; do \
		$(QDELAY)-dev validate $$reference || status=$$?; echo; \
	done; exit $$status

clean: rust
	cargo clean

# A variable of the command line that no target reads is a slip of the pen.
KNOWN := ARGS BASE DESTDIR DIST EFFORT ENDS_ISSUE GUIDED_SECONDS LOAD MAHIMAHI MAHIMAHI_BIN MUTANTS MUTANTS_SEED PREFIX PROFILE QDELAY ROW_LINKS RUNS \
	SOAK_SECONDS WHEEL_MAX_KB WHEEL_TARGET
GIVEN := $(foreach name,$(.VARIABLES),$(if $(filter command%,$(origin $(name))),$(name)))
UNKNOWN := $(filter-out $(KNOWN) CARGO_% QDELAY_% RUST% MAKE% SHELL CC,$(GIVEN))
known:
	@[ -z "$(strip $(UNKNOWN))" ] || { echo "make: unknown variable: $(strip $(UNKNOWN)); expected some of $(KNOWN), QDELAY_..., CARGO_..." >&2; exit 2; }

# Says what is missing, before a build fails with something less clear.
rust: known
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
