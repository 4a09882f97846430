#!/bin/sh
# Installs the command qdelay from an archive that `make tarball` or a release has made, or removes it.
# shellcheck disable=SC2015 # after `A && B || fail` whichever of the two has failed ends it
set -eu

usage() {
    cat <<'END'
usage: install.sh --archive FILE|URL [--sums FILE|URL] [--prefix DIR]
       install.sh --uninstall [--prefix DIR]

--archive    qdelay-VERSION-MACHINE-linux-gnu.tar.gz, as a file or an address that begins with https://
--sums       the file with its SHA-256; default: SHA256SUMS beside the archive
--prefix     below which it is installed (default ~/.local): the command in bin, pages and completions in share, the
             header for components in include. All of these are links to DIR/lib/qdelay.
--uninstall  removes what was installed below DIR

A version that is there is replaced in one step; on any error it stays as it was. Names of mahimahi's programs (mm-link
and so on) are in DIR/lib/qdelay/current/lib/qdelay/mahimahi, for who wants them in PATH.
END
}

fail() {
    echo "install.sh: $*" >&2
    exit 1
}

# misused WHAT: status 2.
misused() {
    echo "install.sh: $*; 'install.sh --help' has the options" >&2
    exit 2
}

archive='' sums='' prefix=${HOME:+$HOME/.local} uninstall=no
while [ $# -gt 0 ]; do
    case "$1" in
        --help | -h) usage && exit 0 ;;
        --uninstall) uninstall=yes ;;
        --archive | --sums | --prefix)
            [ $# -ge 2 ] && [ -n "$2" ] || misused "$1: a value is missing"
            case "$1" in
                --archive) archive=$2 ;;
                --sums) sums=$2 ;;
                --prefix) prefix=$2 ;;
            esac
            shift
            ;;
        *) misused "'$1' is not known" ;;
    esac
    shift
done
[ -n "$prefix" ] || misused "HOME is not set; expected --prefix DIR"
case "$prefix" in /*) ;; *) prefix=$PWD/$prefix ;; esac
# The prefix by its one name, without . and .. and symbolic links: links have it, by which they are known later. And the nearest folder
# above that exists.
above='' resolved='' rest=$prefix/
while [ -n "$rest" ]; do
    part=${rest%%/*} rest=${rest#*/}
    case "$part" in
        '' | .) continue ;;
        ..) resolved=${resolved%/*} ;;
        *) resolved=$resolved/$part ;;
    esac
    if [ -d "$resolved/" ]; then
        resolved=$(cd "$resolved/" && pwd -P) || fail "--prefix $prefix: no permission to enter $resolved; choose another"
        [ "$resolved" != / ] || resolved=''
        above=$resolved
    elif [ -e "$resolved" ]; then
        fail "--prefix $prefix: $resolved is no folder"
    fi
done
prefix=$resolved
lib=$prefix/lib/qdelay

# Whether the link $1 is one of this script's.
is_ours() {
    case "$(readlink "$1" 2>/dev/null)" in "$lib/current/"*) return 0 ;; esac
    return 1
}

# Removes every version but $1.
remove_others() {
    for other in "$lib"/*; do
        [ "$other" = "$lib/$1" ] || [ -L "$other" ] || [ ! -f "$other/REQUIRES" ] || rm -rf "$other"
    done
}

# Removes links of this script that lead nowhere, and folders that are empty then.
prune() {
    for folder in bin include share; do
        [ -d "$prefix/$folder" ] || continue
        find "$prefix/$folder" -type l | while read -r link; do
            if is_ours "$link" && [ ! -e "$link" ]; then
                rm -f "$link"
                emptied=$(dirname "$link")
                while [ "$emptied" != "$prefix" ] && rmdir "$emptied" 2>/dev/null; do
                    emptied=$(dirname "$emptied")
                done
            fi
        done
    done
}

if [ "$uninstall" = yes ]; then
    [ -z "$archive$sums" ] || misused "--uninstall takes no --archive and no --sums"
    [ -d "$lib" ] || fail "$lib: not there; nothing of qdelay was installed below $prefix by this script"
    [ -w "$lib" ] && [ -w "$prefix/lib" ] || fail "$lib: no permission to remove it; expected the user who installed it"
    # Links lead nowhere from here on. The folder itself goes last: what is interrupted can be done again.
    rm -f "$lib/current"
    prune
    remove_others ''
    rm -rf "$lib"/.new.*
    rmdir "$lib" 2>/dev/null || fail "$lib: has files of others, which are left; all of qdelay is removed"
    rmdir "$prefix/lib" 2>/dev/null || true
    echo "install.sh: qdelay is removed from $prefix"
    exit 0
fi

[ -n "$archive" ] || misused "--archive is missing"
name=$(basename "$archive")
case "$name" in
    qdelay-*-linux-gnu.tar.gz) stem=${name%.tar.gz} ;;
    *) misused "--archive: '$name'; expected qdelay-VERSION-MACHINE-linux-gnu.tar.gz" ;;
esac
[ -n "$sums" ] || sums=$(dirname "$archive")/SHA256SUMS
for program in tar gzip sha256sum find df; do
    command -v "$program" >/dev/null 2>&1 || fail "needs $program, which is not in PATH"
done

[ -w "$above/" ] || fail "--prefix $prefix: no permission to write to $above/; choose another"

# All that follows is made in a folder of the same file system, and renamed once it is whole. What is empty at the end was not there before.
work='' placed=''
clean() {
    status=$?
    [ -z "$work" ] || rm -rf "$work"
    [ -z "$placed" ] || rm -rf "$placed"
    (cd "$above/" && rmdir -p "${lib#"$above/"}" 2>/dev/null) || true
    exit "$status"
}
trap clean EXIT
trap 'exit 130' INT TERM HUP
mkdir -p "$lib" 2>/dev/null || fail "$lib: cannot be made; choose another --prefix"
[ -w "$lib" ] || fail "$lib: no permission to write to it; choose another --prefix"
# What an installer left that was killed; the name has the number of its process.
for left in "$lib"/.new.*; do
    process=${left##*/.new.} process=${process%%.*}
    [ -d "$left" ] && [ ! -d "/proc/$process" ] && rm -rf "$left"
done
work=$(mktemp -d "$lib/.new.$$.XXXXXX" 2>/dev/null) || fail "$lib: no file can be made there: is the disk full?"

# fetch FILE_OR_URL WHERE OPTION: a copy of it.
fetch() {
    case "$1" in
        https://*)
            if command -v curl >/dev/null 2>&1; then
                curl --fail --silent --show-error --location --proto '=https' --output "$2" "$1" || fail "$3 $1: cannot be had"
            elif command -v wget >/dev/null 2>&1; then
                wget --quiet --https-only --output-document="$2" "$1" || fail "$3 $1: cannot be had"
            else
                fail "$3 $1: needs curl or wget in PATH; or give a file"
            fi
            ;;
        *://*) fail "$3 $1: expected a file, or an address that begins with https://" ;;
        *)
            [ -f "$1" ] || fail "$3 $1: no such file"
            cp "$1" "$2" 2>/dev/null || fail "$3 $1: cannot be copied to $lib: is it readable, and is there room?"
            ;;
    esac
}
fetch "$sums" "$work/sums" --sums
fetch "$archive" "$work/archive" --archive
expected=$(awk -v name="$name" 'length($1) == 64 && $1 !~ /[^0-9a-f]/ && ($2 == name || $2 == "*" name) { print $1; exit }' "$work/sums")
[ -n "$expected" ] || fail "--sums $sums: has no line for $name; expected 64 hexadecimal digits, two spaces and that name"
found=$(sha256sum <"$work/archive" | cut -d ' ' -f 1)
[ "$found" = "$expected" ] \
    || fail "$archive: its SHA-256 is $found, and $sums has $expected: it is damaged or another file; nothing was installed"

# requires KEY: what the archive says that it needs.
requirements=$(gzip -dc "$work/archive" 2>/dev/null | tar -xOf - "$stem/REQUIRES" 2>/dev/null) \
    || fail "$archive: has no $stem/REQUIRES; expected an archive of 'make tarball'"
requires() {
    printf '%s\n' "$requirements" | sed -n "s/^$1 //p" | head -n 1
}
[ "$(uname -s)" = Linux ] || fail "needs Linux, and this is $(uname -s)"
[ "$(uname -m)" = "$(requires machine)" ] || fail "$name is for $(requires machine), and this machine is $(uname -m)"
glibc=$(getconf GNU_LIBC_VERSION 2>/dev/null | cut -d ' ' -f 2)
[ -n "$glibc" ] || fail "needs the GNU C library $(requires glibc) or newer, and this system has another C library"
oldest=$(printf '%s\n%s\n' "$(requires glibc)" "$glibc" | sort -t . -k 1,1n -k 2,2n | head -n 1)
[ "$oldest" = "$(requires glibc)" ] \
    || fail "needs the GNU C library $(requires glibc) or newer, and this system has $glibc; build the command from its sources here"
needed=$(($(gzip -dc "$work/archive" | wc -c) / 1024 + 1))
room=$(df -Pk "$work" | awk 'NR == 2 { print $4 }')
[ "$room" -ge "$needed" ] || fail "$lib: $room KiB are free there, and $needed are needed; nothing was installed"
gzip -dc "$work/archive" | tar -xf - -C "$work" --no-same-owner 2>"$work/complaint" \
    || fail "$lib: the archive cannot be unpacked there: $(head -n 1 "$work/complaint"); nothing was installed"
said=$("$work/$stem/bin/qdelay" --version 2>&1) || fail "the command does not run here: $said; nothing was installed"

# Every file that gets a link. One of somebody else's is not replaced.
cd "$work/$stem"
find . -type f \( -path './bin/*' -o -path './include/*' -o -path './share/*' \) | sed 's#^\./##' >"$work/files" \
    || fail "$lib: its files cannot be listed there; nothing was installed"
while read -r file; do
    if [ -e "$prefix/$file" ] || [ -L "$prefix/$file" ]; then
        is_ours "$prefix/$file" \
            || fail "$prefix/$file: is there, and not of this script; remove it, or choose another --prefix; nothing was installed"
    fi
done <"$work/files"

# The name of the new version's folder has its digest: `current` changes from one whole folder to another.
version=$(requires version)-$(printf '%.12s' "$expected")
cd "$lib"
if [ ! -d "$lib/$version" ]; then
    placed=$lib/$version
    mv "$work/$stem" "$placed" || fail "$placed: cannot be made; nothing was installed"
fi
ln -s "$version" "$work/current" && mv -T "$work/current" "$lib/current" || fail "$lib/current: cannot be replaced"
placed=''
while read -r file; do
    is_ours "$prefix/$file" && continue
    mkdir -p "$(dirname "$prefix/$file")" && ln -s "$lib/current/$file" "$prefix/$file" \
        || fail "$prefix/$file: cannot be made; '$lib/current/bin/qdelay' is whole, and the same command goes on"
done <"$work/files"
remove_others "$version"
prune

echo "install.sh: $said is $prefix/bin/qdelay"
case ":$PATH:" in
    *":$prefix/bin:"*) ;;
    *) echo "install.sh: $prefix/bin is not in PATH" ;;
esac
