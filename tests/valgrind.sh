#!/bin/sh
# valgrind.sh PROGRAM ARGUMENT... - run a test under Valgrind: reads and writes where there is no memory,
# numbers that were never set, and memory that is lost at the end are errors (status 9). What the OpenCL
# driver, its compiler and the loader do among themselves is in tests/sanitize/valgrind.supp.
here=$(dirname "$0")
export KRY_TEST_SMALL=1 # small sizes, as under Oclgrind
export KRY_VALGRIND=1
exec valgrind --quiet --error-exitcode=9 --num-callers=40 --leak-check=full \
    --show-leak-kinds=definite --errors-for-leak-kinds=definite --fair-sched=yes \
    --suppressions="$here/sanitize/valgrind.supp" "$@"
