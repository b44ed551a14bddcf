#!/usr/bin/env bash
# Makes a base for all images out of Debian's packages, for machines without an image registry. Needs root, debootstrap
# and a Docker daemon. It carries over what this machine's pip needs to reach its packages (docker/README.md).
#   docker/base.sh [NAME]        does nothing if there is an image of that name (by default solmark-base)
set -euo pipefail
cd "$(dirname "$0")/.."

name=${1:-solmark-base}
if docker image inspect "$name" >/dev/null 2>&1; then exit 0; fi
command -v debootstrap >/dev/null ||
    { echo "A base for images is made with debootstrap, which is not here (Debian: apt-get install debootstrap)" >&2; exit 1; }
root=$(mktemp -d)
trap 'rm -rf "$root"' EXIT

# The same release as this machine's where that is a Debian: then wheels for its Python fit this one too.
suite=$(. /etc/os-release; if [[ $ID == debian ]]; then echo "$VERSION_CODENAME"; else echo bookworm; fi)
packages=python3,python3-venv,ca-certificates,g++,libseccomp2
debootstrap --variant=minbase --include="$packages" "$suite" "$root" >"$root.log" ||
    { for log in "$root.log" "$root/debootstrap/debootstrap.log"; do tail -n 20 "$log" >&2; done; exit 1; }
rm -rf "$root.log" "$root"/var/cache/apt/archives/*.deb "$root"/var/lib/apt/lists/*

cp /etc/ssl/certs/ca-certificates.crt "$root/etc/ssl/certs/"
pip=.venv/bin/pip
if [[ ! -x $pip ]]; then pip="python3 -m pip"; fi
$pip config list 2>/dev/null | sed -n "s/^\(global\|:env:\)\.\([a-z-]*\)='\(.*\)'$/\2 = \3/p" | sort -u |
    grep -E '^(index-url|extra-index-url|find-links|cert|trusted-host|timeout|proxy) ' | awk '!seen[$1]++' |
    sed '1i [global]' >"$root/etc/pip.conf" || true
# Folders of wheels, as far as they are folders.
for folder in $(sed -n 's/^find-links = //p' "$root/etc/pip.conf"); do
    if [[ -d $folder ]]; then mkdir -p "$root$folder" && cp -r "$folder/." "$root$folder"; fi
done
# Indexes on this machine's own disk are not there in a container.
sed -i '/^extra-index-url = .*file:/d' "$root/etc/pip.conf"
tar -C "$root" -c . | docker import - "$name" >/dev/null
echo "$name: Debian $suite"
