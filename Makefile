# An index of what can be done here. Logic lives in xtask/, prerequisites in xtask/deps.sh.
#
#   DIR=path       the database directory for run, dump and scrub (default: rukh-data)
#   ARGS='...'     handed on to the command behind the target

DIR  ?= rukh-data
ARGS ?=

# One optimised profile serves run, test, check and bench, and no target chooses packages by --package:
# so RocksDB and DataFusion are built once (docs/decisions/0001-one-optimised-profile.md).
RELEASE := --release
# ccache is used when it is there. CC and CXX stay as they are: cargo rebuilds RocksDB when they change.
export PATH := $(if $(wildcard /usr/lib/ccache),/usr/lib/ccache:)$(PATH)
# `make -s` silences cargo too, but not the first build, which takes long.
TARGET := $(abspath $(or $(CARGO_TARGET_DIR),target))
BUILT := $(wildcard $(TARGET)/release/rukh)
QUIET := $(if $(and $(BUILT),$(findstring s,$(firstword -$(MAKEFLAGS)))),--quiet)

# What a first build says, once.
FIRST := $(if $(BUILT),,echo 'The first build compiles RocksDB (C++) and DataFusion, optimised: about half an hour on two cores. Later builds compile what changed.' >&2 &&)

DEPS  := sh xtask/deps.sh
XTASK := cargo run --quiet --package xtask --
RUKH  := cargo run $(QUIET) $(RELEASE) --bin rukh --

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help run test install deb release fast check update dump scrub data bench bench-writes bench-wire bench-hbase bench-smoke soak regress crash hbase hbase-stop deps

help:          ## print this list
	@sed -n 's/^\([a-z-]*\): *## \(.*\)/  make \1	\2/p' Makefile | expand -t 22

run:           ## open the REPL on DIR; SQL on stdin is run as a script
	@$(DEPS) build && $(FIRST) exec $(RUKH) $(DIR) $(ARGS)

test:          ## run every test of the workspace
	@$(DEPS) test && exec cargo test $(RELEASE) --workspace $(ARGS)

PREFIX ?= /usr/local
install:       ## build, and install program, manual pages and completions below PREFIX (/usr/local)
	@$(DEPS) build && $(FIRST) cargo build $(QUIET) $(RELEASE) --bin rukh && exec sh xtask/package.sh install '$(TARGET)/release/rukh' '$(PREFIX)'

deb:           ## build, and make a Debian package with a service of systemd; prints its path
	@$(DEPS) build && $(FIRST) cargo build $(QUIET) $(RELEASE) --bin rukh && exec sh xtask/package.sh deb '$(TARGET)/release/rukh' '$(TARGET)/packages'

release:       ## make what is given away: archive, Debian package, bill of materials, checksums
	@$(DEPS) build && $(FIRST) cargo build $(QUIET) $(RELEASE) --bin rukh && mkdir -p '$(TARGET)/packages' && $(XTASK) sbom > '$(TARGET)/packages/bill' && \
		exec sh xtask/package.sh release '$(TARGET)/release/rukh' '$(TARGET)/packages/release' '$(TARGET)/packages/bill'

fast:          ## test the pure crates only: seconds, builds neither RocksDB nor DataFusion
	@exec cargo test --package rukh-keys --package rukh-catalog --package rukh-syntax --package rukh-planner --package rukh-commit --package xtask $(ARGS)

check:         ## fmt, tidy, features, clippy and docs, all without a warning
	@$(DEPS) build
	cargo fmt --all --check
	cargo fmt --manifest-path bench-peers/Cargo.toml --check
	cargo fmt --manifest-path tests/clients/sqlx/Cargo.toml --check
	$(XTASK) tidy
	$(XTASK) features
	cargo clippy $(RELEASE) --workspace --all-targets -- -D warnings -A clippy::unwrap_used
	CARGO_TARGET_DIR='$(TARGET)' cargo clippy $(RELEASE) --manifest-path bench-peers/Cargo.toml --all-targets -- -D warnings -A clippy::unwrap_used
	RUSTDOCFLAGS="-D warnings" cargo doc $(RELEASE) --workspace --no-deps

update:        ## rewrite golden files and snapshots; then read the diff
	@$(DEPS) test && UPDATE_GOLDENFILES=1 INSTA_UPDATE=always exec cargo test $(RELEASE) --workspace $(ARGS)

dump:          ## print every stored key and value of DIR, decoded
	@$(DEPS) build && exec $(RUKH) dump $(DIR) $(ARGS)

scrub:         ## compare every table of DIR with its indexes, both ways
	@$(DEPS) build && exec $(RUKH) check $(DIR) $(ARGS)

data:          ## fetch the public flight data sets into data/
	@exec $(XTASK) data $(ARGS)

bench:         ## measure Rukh beside SQLite and raw RocksDB, with --columnar beside DuckDB; ARGS='--rows 1000000' is quick
	@$(DEPS) build && CARGO_TARGET_DIR='$(TARGET)' exec cargo run $(RELEASE) --manifest-path bench-peers/Cargo.toml -- $(ARGS)

bench-writes:  ## measure writes beside PostgreSQL and SQLite; ARGS='--rows 10000 upserts counters' is quick
	@$(DEPS) test && exec cargo run $(RELEASE) --bin rukh-bench-writes -- $(ARGS)

bench-wire:    ## measure what clients see beside PostgreSQL; ARGS='--seconds 3 --scale 1 --rows 100000 points' is quick
	@$(DEPS) test && cargo build $(RELEASE) --bin rukh --bin rukh-bench-wire && exec '$(TARGET)/release/rukh-bench-wire' $(ARGS)

bench-hbase:   ## measure Rukh on HBase beside its Java client and Phoenix (Java 17, Maven); ARGS='--rows 20000' is quick
	@$(DEPS) test && exec cargo run $(RELEASE) --bin rukh-bench-hbase -- $(ARGS)

# The names of benches and examples come from xtask; their workspaces are two.
bench-smoke:   ## run every bench and every example at a size of seconds, all questions, rows compared; ARGS=columnar for some
	@$(DEPS) test && cargo build $(RELEASE) --workspace --bins --examples
	@CARGO_TARGET_DIR='$(TARGET)' cargo test $(RELEASE) --manifest-path bench-peers/Cargo.toml
	@CARGO_TARGET_DIR='$(TARGET)' cargo build $(RELEASE) --manifest-path bench-peers/Cargo.toml
	@exec $(XTASK) smoke '$(TARGET)/release' $(ARGS)

soak:          ## let clients of every kind work on a server, and fail if it grows; ARGS='--minutes 20'
	@$(DEPS) build && cargo build $(RELEASE) --bin rukh --bin rukh-soak && exec '$(TARGET)/release/rukh-soak' $(ARGS)

# ARGS: files of the suite, --out DIRECTORY. The sources come by apt; DuckDB's suite is played from a clone: SUITE=duckdb SOURCES=…/test/sql
SUITE   ?= postgresql
FETCHED  = $(or $(RUKH_DATA),data)/suites
SOURCES ?= $(FETCHED)/$(if $(filter sqlite,$(SUITE)),sqlite3/test,postgresql-15/src/test/regress)
regress:       ## play PostgreSQL's own tests on Rukh and on PostgreSQL, and fail on answers that differ; SUITE=sqlite for SQLite's, signatures for 100,000 calls by its catalog
ifeq ($(SUITE),signatures)
	@$(DEPS) test && RUKH_CASES=$${RUKH_CASES:-100000} exec cargo test $(RELEASE) --package rukh-testkit --test signatures \
		-- --nocapture $(ARGS)
else
	@$(DEPS) test && $(XTASK) sources '$(FETCHED)' && cargo build $(RELEASE) --bin rukh --bin rukh-regress
	@exec '$(TARGET)/release/rukh-regress' $(SUITE) '$(SOURCES)' $(ARGS)
endif

crash:         ## kill writers at random and at every point, fail writes, damage files: RUKH_CRASH_ROUNDS, _POINTS, RUKH_DAMAGE, RUKH_SEED
	@$(DEPS) build && export RUKH_CRASH_ROUNDS=$${RUKH_CRASH_ROUNDS:-500} RUKH_CRASH_POINTS=$${RUKH_CRASH_POINTS:-all} \
		RUKH_DAMAGE=$${RUKH_DAMAGE:-500} && cargo test $(RELEASE) --workspace --test crash -- --nocapture $(ARGS) && \
		exec cargo test $(RELEASE) --workspace --test engine -- --nocapture points:: faults:: damage:: $(ARGS)

hbase:         ## start a real HBase (Java 17, Maven) in RUKH_HBASE_DIR and print its URL
	@exec sh tests/hbase/hbase.sh start

hbase-stop:    ## end what `make hbase` started; its data stay
	@exec sh tests/hbase/hbase.sh stop

deps:          ## install or name what the build needs
	@$(DEPS) test
