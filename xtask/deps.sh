#!/bin/sh
# Checks what the build needs, and installs it where that can be done without asking:
# as root on a Debian system. Elsewhere it prints one line that says how, and fails.
#
#   sh xtask/deps.sh build    cargo, a C++ compiler, libclang (for the bindings of RocksDB)
#   sh xtask/deps.sh test     also PostgreSQL and SQLite, the second opinions of the tests, and JDBC's driver; these may stay missing
set -eu

can_install() {
    [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1
}

# install_packages NAME...: from the lists at hand, or else after refreshing them.
install_packages() {
    echo "installing $*" >&2
    export DEBIAN_FRONTEND=noninteractive
    apt-get install -y -qq --no-install-recommends "$@" </dev/null >/dev/null 2>&1 && return
    apt-get update -qq </dev/null >/dev/null 2>&1 || true
    apt-get install -y -qq --no-install-recommends "$@" </dev/null >/dev/null
}

has_any() {
    for file in "$@"; do
        [ -e "$file" ] && return
    done
    return 1
}

has_compiler() {
    command -v c++ >/dev/null 2>&1 || command -v g++ >/dev/null 2>&1 || command -v clang++ >/dev/null 2>&1
}

# The library alone does not do: bindgen reads stddef.h and its like from clang's own headers.
has_libclang() {
    [ "$(uname -s)" = Linux ] || return 0
    [ -z "${LIBCLANG_PATH:-}" ] || return 0
    has_any /usr/lib/llvm*/lib/clang/*/include/stddef.h /usr/lib/clang/*/include/stddef.h \
        /usr/lib64/clang/*/include/stddef.h || return 1
    has_any /usr/lib/llvm*/lib/libclang.so* /usr/lib/llvm*/lib/libclang-[0-9]*.so* /usr/lib/libclang.so* \
        /usr/lib64/libclang.so* /usr/lib64/llvm*/lib/libclang.so* && return
    ldconfig -p 2>/dev/null | grep -q 'libclang[-.][0-9so]'
}

has_postgresql() {
    command -v postgres >/dev/null 2>&1 || has_any /usr/lib/postgresql/*/bin/postgres
}

need_build() {
    if ! command -v cargo >/dev/null 2>&1; then
        echo "cargo is missing: install Rust 1.95 or newer (https://rustup.rs)" >&2
        exit 1
    fi
    has_compiler && has_libclang && return
    if can_install; then
        install_packages libclang-dev g++ make && return
    fi
    echo "a C++ compiler and libclang are needed: sudo apt-get install -y libclang-dev g++" >&2
    exit 1
}

want_test() {
    missing=
    has_postgresql || missing="$missing postgresql"
    command -v sqlite3 >/dev/null 2>&1 || missing="$missing sqlite3"
    ! command -v javac >/dev/null 2>&1 || has_any /usr/share/java/postgresql.jar || missing="$missing libpostgresql-jdbc-java"
    [ -n "$missing" ] || return 0
    if can_install; then
        # shellcheck disable=SC2086  # a list of names
        install_packages $missing && return
    fi
    echo "without${missing}, tests that need them are skipped: sudo apt-get install -y${missing}" >&2
}

case "${1:-build}" in
build) need_build ;;
test) need_build && want_test ;;
*) echo "usage: deps.sh build|test" >&2 && exit 2 ;;
esac
