#!/bin/bash
# check.sh [--update] HALKA TRANSCRIPT: runs each line "$ command" of a transcript in an empty folder and compares what it prints
# (standard output and error together, then "[exit N]" if N is not 0) with the lines after it. Other lines before the first command
# are comments. --update writes the transcript anew.
update=
if [ "$1" = --update ]; then
    update=1
    shift
fi
halka=$(realpath "$1")
transcript=$(realpath "$2")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/work"
ln -s "$halka" "$folder/bin/halka"
export PATH="$folder/bin:$PATH" LC_ALL=C TESTS="$(dirname "$transcript")"
unset HALKA_ISA
cd "$folder/work" || exit 1
{
    sed '/^\$ /,$d' "$transcript"
    sed -n 's/^\$ //p' "$transcript" | while IFS= read -r line; do
        printf '$ %s\n' "$line"
        bash -c "$line" </dev/null 2>&1
        code=$?
        [ $code -eq 0 ] || echo "[exit $code]"
    done
} >"$folder/found"
if [ -n "$update" ]; then
    cp "$folder/found" "$transcript"
else
    diff -u "$transcript" "$folder/found"
fi
