#!/bin/sh
# Installs the program that was built, or makes a Debian package of it.
#
#   sh xtask/package.sh install PROGRAM PREFIX    program, manual pages, completions; DESTDIR is put before PREFIX
#   sh xtask/package.sh deb PROGRAM DIRECTORY     rukh_VERSION_ARCHITECTURE.deb, whose path is printed
#   sh xtask/package.sh release PROGRAM DIRECTORY BILL
#                                                 archive, the Debian package and the bill of materials, with checksums
#   sh xtask/package.sh try PACKAGE               installs it, runs what it has, and removes it; needs root
set -eu

here=$(cd "$(dirname "$0")" && pwd)

fail() {
    echo "$*" >&2
    exit 1
}

# put PROGRAM ROOT: everything under a prefix.
put() {
    install -D -m 0755 "$1" "$2/bin/rukh"
    "$1" man "$2/share/man/man1"
    for shell in bash:bash-completion/completions/rukh zsh:zsh/vendor-completions/_rukh fish:fish/vendor_completions.d/rukh.fish; do
        path=$2/share/${shell#*:}
        mkdir -p "$(dirname "$path")"
        "$1" completions "${shell%%:*}" >"$path"
    done
}

deb() {
    command -v dpkg-deb >/dev/null && command -v dpkg-shlibdeps >/dev/null ||
        fail "dpkg-deb and dpkg-shlibdeps are needed: sudo apt-get install -y dpkg-dev"
    version=$("$1" --version | cut -d ' ' -f 2)
    architecture=$(dpkg --print-architecture)
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    root=$work/root
    put "$1" "$root/usr"
    strip --strip-unneeded "$root/usr/bin/rukh"
    gzip -9n "$root"/usr/share/man/man1/*.1
    install -D -m 0644 "$here/package/rukh.service" "$root/lib/systemd/system/rukh.service"
    install -D -m 0644 "$here/package/rukh.toml" "$root/etc/rukh/rukh.toml"
    install -D -m 0644 "$here/../LICENSE" "$root/usr/share/doc/rukh/copyright"
    install -D -m 0644 "$here/../CHANGELOG.md" "$root/usr/share/doc/rukh/changelog"
    gzip -9n "$root/usr/share/doc/rukh/changelog"

    # What the program is linked with, and from which version on.
    mkdir "$work/debian"
    printf 'Source: rukh\n\nPackage: rukh\nArchitecture: any\n' >"$work/debian/control"
    libraries=$(cd "$work" && dpkg-shlibdeps -O root/usr/bin/rukh 2>/dev/null | sed -n 's/^shlibs:Depends=//p')
    [ -n "$libraries" ] || fail "dpkg-shlibdeps does not say what $1 is linked with"

    mkdir "$root/DEBIAN"
    for script in postinst prerm postrm; do
        install -m 0755 "$here/package/$script" "$root/DEBIAN/$script"
    done
    echo /etc/rukh/rukh.toml >"$root/DEBIAN/conffiles"
    cat >"$root/DEBIAN/control" <<CONTROL
Package: rukh
Version: $version
Architecture: $architecture
Maintainer: The authors of Rukh <rukh@localhost>
Installed-Size: $(du -sk "$root" | cut -f 1)
Depends: $libraries, passwd
Section: database
Priority: optional
Description: SQL over ordered keys, in one process
 Tables whose keys and orders the user chooses, for keyed and time-ordered
 records. WHERE clauses become exact ranges of keys. A prompt, scripts, and
 a server for clients of PostgreSQL, in a directory of RocksDB.
CONTROL
    mkdir -p "$2"
    package=$2/rukh_${version}_$architecture.deb
    dpkg-deb --root-owner-group -Zxz -z1 --build "$root" "$package" >/dev/null
    echo "$package"
}

release() {
    work=$(mktemp -d)
    name=rukh-$("$1" --version | cut -d ' ' -f 2)-linux-$(uname -m)
    put "$1" "$work/$name"
    strip --strip-unneeded "$work/$name/bin/rukh"
    cp "$here/../LICENSE" "$here/../README.md" "$here/../CHANGELOG.md" "$work/$name"
    mkdir -p "$2"
    # The same files give the same archive.
    tar --directory "$work" --sort=name --owner=0 --group=0 --numeric-owner --mtime=@0 -cf - "$name" | gzip -9n >"$2/$name.tar.gz"
    rm -rf "$work"
    cp "$3" "$2/$name.cdx.json"
    package=$(deb "$1" "$2")
    (cd "$2" && sha256sum "$name.tar.gz" "$name.cdx.json" "${package##*/}" >SHA256SUMS && sha256sum --check --quiet SHA256SUMS)
    ls -l "$2"
}

# try PACKAGE: what a user of the package does first.
try() {
    [ "$(id -u)" = 0 ] || fail "a package is installed by root only"
    ! dpkg -s rukh >/dev/null 2>&1 || fail "rukh is installed already"
    dpkg --install "$1" >/dev/null
    trap 'dpkg --purge rukh >/dev/null' EXIT
    [ "$(/usr/bin/rukh -t :memory: -c 'select 6 * 7')" = " 42" ] || fail "the program does not compute"
    # Small systems leave pages out when they install.
    dpkg-deb --fsys-tarfile "$1" | tar -xO ./usr/share/man/man1/rukh-serve.1.gz | gzip -dc | grep -q listen ||
        fail "the manual page says nothing of --listen"
    bash -n /usr/share/bash-completion/completions/rukh
    [ "$(stat -c '%U %a' /var/lib/rukh)" = "rukh 750" ] || fail "/var/lib/rukh is not the user's"
    if command -v systemd-analyze >/dev/null; then
        systemd-analyze verify /lib/systemd/system/rukh.service || fail "systemd does not take the unit"
    fi
    # As the unit does it, on a port that is free.
    data=$(mktemp -d -p /var/lib/rukh)
    chown rukh "$data"
    printed=$data/printed
    RUKH_LISTEN=127.0.0.1:0 setpriv --reuid=rukh --regid=rukh --clear-groups /usr/bin/rukh serve "$data/db" --config /etc/rukh/rukh.toml >"$printed" 2>&1 &
    server=$!
    trap 'kill $server 2>/dev/null || true; dpkg --purge rukh >/dev/null; rm -rf "$data"' EXIT
    for _ in $(seq 100); do
        grep -q 127.0.0.1: "$printed" && break
        sleep 0.1
    done
    address=$(sed -n 's/.*\(127\.0\.0\.1:[0-9]*\).*/\1/p' "$printed" | head -1)
    [ -n "$address" ] || fail "the server does not start: $(cat "$printed")"
    /usr/bin/rukh top "host=127.0.0.1 port=${address##*:}" --count 1 >/dev/null || fail "the server does not answer"
    kill "$server"
    wait "$server" || fail "the server does not end as it should"
    echo "$1 was installed, served, and was removed"
}

case "${1:-}:$#" in
install:3) put "$2" "${DESTDIR:-}$3" ;;
deb:3) deb "$2" "$3" ;;
release:4) release "$2" "$3" "$4" ;;
try:2) try "$2" ;;
*) fail "usage: package.sh install PROGRAM PREFIX | deb PROGRAM DIRECTORY | release PROGRAM DIRECTORY BILL | try PACKAGE" ;;
esac
