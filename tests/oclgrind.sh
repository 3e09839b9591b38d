#!/bin/sh
# oclgrind.sh PROGRAM ARGUMENT... - run a test on Oclgrind's device, and fail if it has anything to
# say. Oclgrind leaves the exit status to the program, so what counts is its log.

platform=$(dpkg -L liboclgrind-21.10 oclgrind 2>/dev/null | grep 'liboclgrind-rt-icd\.so$' | head -1)
[ -n "$platform" ] || platform=$(find /usr/lib -name liboclgrind-rt-icd.so 2>/dev/null | head -1)
[ -n "$platform" ] || { echo "oclgrind.sh: liboclgrind-rt-icd.so is not installed" >&2; exit 99; }
log=$(mktemp "${TMPDIR:-/tmp}/kry-oclgrind.XXXXXX") || exit 99
trap 'rm -f "$log"' EXIT
trap 'exit 1' HUP INT TERM

# Optimised kernels crash the check for uninitialised values of Oclgrind 21.10 (sums of vectors
# become shuffles with lanes that do not matter), and the lines it names would be off. Binaries get
# a cache of their own, so that none comes from other options. It takes a vector with one lane that is
# not set for one that is not set at all, so they all are (cl/grid/sweep.clh).
OCLGRIND_BUILD_OPTIONS='-cl-opt-disable -DKRY_SET_LANES'
KRY_CACHE_DIR=${KRY_CACHE_DIR:+$KRY_CACHE_DIR/oclgrind}
KRY_OCLGRIND=1 # dense matrices and batches take too long: tools/test --full
export OCLGRIND_BUILD_OPTIONS KRY_CACHE_DIR KRY_OCLGRIND

OCL_ICD_VENDORS=$platform OCLGRIND_DATA_RACES=1 OCLGRIND_UNINITIALIZED=1 OCLGRIND_CHECK_API=1 \
    OCLGRIND_LOG=$log "$@"
status=$?
if [ -s "$log" ]; then
    echo "Oclgrind found:" >&2
    head -100 "$log" >&2
    exit 1
fi
exit "$status"
