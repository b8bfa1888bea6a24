#!/bin/bash
# Installs the Debian packages that building and testing halka needs, and only those that are missing.
#
#     tools/install-packages.sh [PACKAGE...]     (default: the list below)
#
# The library itself needs libc alone; zlib, libjpeg and libpng are optional features, the data sets serve the quickstart
# and the tests.
set -euo pipefail

packages=("$@")
if [ ${#packages[@]} -eq 0 ]; then
    packages=(cmake ninja-build gcc g++ pkg-config make zlib1g-dev libjpeg62-turbo-dev libpng-dev
        dataset-fashion-mnist libonnx-testdata python3)
fi

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
    if command -v cmake >/dev/null && command -v ninja >/dev/null && command -v cc >/dev/null; then
        echo "halka: this is not Debian; building with the cmake, ninja and cc that are here" >&2
        exit 0
    fi
    echo "halka: this is not Debian, so nothing can be installed here. Please install what these Debian packages hold:" >&2
    echo "    ${packages[*]}" >&2
    exit 1
fi

missing=()
for package in "${packages[@]}"; do
    state=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "halka: installing ${missing[*]}"
root=()
if [ "$(id -u)" -ne 0 ]; then
    if ! command -v sudo >/dev/null; then
        echo "halka: installing needs root, and there is no sudo. Please run as root: apt-get install ${missing[*]}" >&2
        exit 1
    fi
    root=(sudo)
fi
install() {
    "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
}
# The lists of packages may be absent or old: fetch them only if the first attempt fails.
if ! install; then
    "${root[@]}" apt-get update
    install
fi
