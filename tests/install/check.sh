#!/bin/sh
# check.sh BUILD CMAKE CC GENERATOR: see CMakeLists.txt.
set -e
build=$1 cmake=$2 cc=$3 generator=$4
here=$(dirname "$(realpath "$0")")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$cmake" --install "$build" --prefix "$folder/usr" >/dev/null

# CMAKE_INSTALL_PREFIX in halka.pc is that of the configuration; pkg-config takes it from the file's own place instead.
PKG_CONFIG_PATH=$(dirname "$(find "$folder/usr" -name halka.pc)"):$PKG_CONFIG_PATH
export PKG_CONFIG_PATH
"$cc" -std=c11 -Wall -Wextra -Werror -o "$folder/by_pkg_config" "$here/program.c" \
    $(pkg-config --define-prefix --cflags --libs halka)
"$folder/by_pkg_config"

"$cmake" -S "$here/consumer" -B "$folder/consumer" -G "$generator" -DCMAKE_C_COMPILER="$cc" \
    -DCMAKE_PREFIX_PATH="$folder/usr" >/dev/null
"$cmake" --build "$folder/consumer" >/dev/null
"$folder/consumer/program"

"$folder/usr/bin/halka" version
for file in share/man/man1/halka.1 share/bash-completion/completions/halka share/zsh/vendor-completions/_halka \
    share/fish/vendor_completions.d/halka.fish include/halka/halka.h; do
    test -s "$folder/usr/$file" || { echo "missing: $file"; exit 1; }
done
