#!/bin/sh
# fuzz.sh PROGRAM CORPUS - a bounded run of a libFuzzer program, of FUZZ_SECONDS (20);
# CORPUS is left as it is, and allocations beyond half a gigabyte fail.

memory=/dev/shm
[ -w $memory ] || memory=${TMPDIR:-/tmp}
dir=$(mktemp -d "$memory/kry-fuzz.XXXXXX") || exit 99
umask 022 # kry reads no file of its cache that others can write
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
ASAN_OPTIONS=allocator_may_return_null=1:max_allocation_size_mb=512
TMPDIR=$dir
export ASAN_OPTIONS TMPDIR
cp -r "${2:?usage: fuzz.sh PROGRAM CORPUS}" "$dir/corpus" &&
    "${1:?}" -seed=1 -max_total_time="${FUZZ_SECONDS:-20}" -max_len=4096 -timeout=300 \
        -rss_limit_mb=2048 -print_final_stats=1 "$dir/corpus"
