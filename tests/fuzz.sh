#!/bin/sh
# fuzz.sh PROGRAM CORPUS - a bounded run of a libFuzzer program; CORPUS is left as it is.

dir=$(mktemp -d "${TMPDIR:-/tmp}/kry-fuzz.XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
cp -r "${2:?usage: fuzz.sh PROGRAM CORPUS}" "$dir/corpus" &&
    "${1:?}" -runs=200000 -seed=1 -max_len=4096 -timeout=20 -rss_limit_mb=1024 "$dir/corpus"
