# shellcheck shell=sh disable=SC2015,SC2034,SC2154
# Sourced by the scripts of this folder, after they have set `me` to their own name for messages.
#
# root     the checkout
# version  the workspace's
# triple   what a command of this machine runs on, in names of archives
# epoch    seconds since 1970 that every file of a package has: SOURCE_DATE_EPOCH, or the time of the last commit

fail() {
    echo "$me: $*" >&2
    exit 1
}

# needs PROGRAM DEBIAN_PACKAGE: it is in PATH.
needs() {
    command -v "$1" >/dev/null 2>&1 || fail "needs $1; on Debian: apt-get install $2"
}

root=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)
[ -n "$version" ] || fail "$root/Cargo.toml: [workspace.package] has no version"
triple=$(uname -m)-linux-gnu
umask 022
export LC_ALL=C TZ=UTC

epoch=${SOURCE_DATE_EPOCH:-$(git -C "$root" log -1 --format=%ct 2>/dev/null || true)}
case "$epoch" in
    '') fail "$root is no checkout of git; set SOURCE_DATE_EPOCH to the seconds since 1970 that files of the package should have" ;;
    *[!0-9]*) fail "SOURCE_DATE_EPOCH is '$epoch'; expected seconds since 1970" ;;
esac
export SOURCE_DATE_EPOCH="$epoch"

# Whether CHANGELOG.md has a heading of the version that Cargo.toml has: from then on it counts as released.
is_released() {
    grep -q "^## $version - [0-9]\{4\}-[0-9][0-9]-[0-9][0-9]\$" "$root/CHANGELOG.md"
}

# check_command FILE: it is a command of this version that runs here. The result is its absolute name in `command`.
check_command() {
    [ -f "$1" ] && [ -x "$1" ] || fail "$1: no such command; 'make build' or 'make release' makes one, and QDELAY=FILE names it"
    command=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
    said=$("$command" --version 2>&1) || fail "$1: does not run here: $said"
    case "$said" in
        "qdelay $version" | "qdelay $version ("*) ;;
        *) fail "$1: is '$said'; expected qdelay $version, as Cargo.toml has it" ;;
    esac
}

# stage FOLDER PREFIX: what every package has, under FOLDER/PREFIX: what `make install` installs, without debug information; the manual;
# the gateway's configuration, unit, alerts and dashboard as examples; licences and notices. mahimahi's names are in a folder of their
# own, lib/qdelay/mahimahi: beside mahimahi's programs, or before them in PATH, they would hide these.
stage() {
    needs make make
    needs strip binutils
    needs python3 python3
    make --no-print-directory --silent -C "$root" install QDELAY="$command" DESTDIR="$1" PREFIX="$2" \
        MAHIMAHI=yes MAHIMAHI_BIN="$2/lib/qdelay/mahimahi" >/dev/null
    strip --strip-unneeded --remove-section=.comment --remove-section=.note "$1$2/bin/qdelay"
    doc=$1$2/share/doc/qdelay
    mkdir -p "$doc/examples"
    (cd "$root/docs" && find . -type f \( -name '*.md' -o -name '*.svg' -o -name '*.png' -o -name '*.schema.json' \)) \
        | while read -r page; do
            mkdir -p "$doc/$(dirname "$page")"
            cp "$root/docs/$page" "$doc/$page"
        done
    for page in README CHANGELOG SECURITY SUPPORT; do
        sed 's#(docs/#(#g' "$root/$page.md" >"$doc/$page.md"
    done
    for page in "$doc"/*.md; do
        # The only files outside of docs/ that are in the package.
        sed -i -e 's#(\.\./packaging/#(examples/#g' -e 's#(\.\./\([A-Z]*\.md\)#(\1#g' "$page"
    done
    for file in LICENSE-MIT LICENSE-APACHE; do
        cp "$root/$file" "$doc/$file"
    done
    for file in gateway.toml systemd prometheus grafana; do
        cp -R "$root/packaging/$file" "$doc/examples/"
    done
    "$root/packaging/dependencies" --notices "$doc/THIRD-PARTY-NOTICES" --sbom "$doc/qdelay.cdx.json" || exit 1
    find "$1$2" -type d -exec chmod 755 {} +
    find "$1$2" -type f ! -path '*/bin/qdelay' -exec chmod 644 {} +
    find "$1" -exec touch --no-dereference --date="@$epoch" {} +
}

# debian_root FOLDER: makes a new root of Debian there: the smallest that debootstrap has, of this machine's release, whose glibc a
# command that was built here fits. Takes a minute; it is kept below target/ as an archive for the next time.
suite=${QDELAY_SUITE:-$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release 2>/dev/null || true)}
debian_root() {
    needs debootstrap debootstrap
    [ "$(id -u)" = 0 ] || fail "debootstrap needs root"
    [ -n "$suite" ] || fail "/etc/os-release has no VERSION_CODENAME; set QDELAY_SUITE to a release of Debian"
    kept=${CARGO_TARGET_DIR:-$root/target}/packaging/debian-$suite.tar
    if [ ! -f "$kept" ]; then
        echo "$me: debootstrap $suite: about a minute"
        mkdir -p "$(dirname "$kept")"
        new=$(mktemp -d)
        if ! debootstrap --variant=minbase "$suite" "$new" >"$kept.log" 2>&1; then
            rm -rf "$new"
            fail "debootstrap: $(tail -n 1 "$kept.log"); $kept.log has all of it"
        fi
        # Lists and archives of packages, which apt gets again; logs.
        rm -rf "$new"/var/lib/apt/lists/* "$new"/var/cache/apt/*.bin "$new"/var/cache/apt/archives/*.deb "$new"/var/log/*
        tar --create --file="$kept.new" --numeric-owner --directory="$new" .
        rm -rf "$new"
        mv "$kept.new" "$kept"
    fi
    mkdir -p "$1"
    tar --extract --file="$kept" --numeric-owner --directory="$1"
    chmod 755 "$1"
}

# same_as_here OUTPUT: the comparison below printed there what it prints on this machine.
comparison="compare --link 10mbit --qdisc taildrop,codel --transport cubic --duration 10s"
same_as_here() {
    # shellcheck disable=SC2086 # words
    "$command" $comparison >"$1.here"
    cmp -s "$1" "$1.here" || fail "'qdelay $comparison' printed something else there than here: see '$(cat "$1")'"
}
