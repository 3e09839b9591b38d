#!/bin/sh
# test.sh SOURCE BUILD - kry/dealii.h in programs of deal.II, which CMake makes as deal.II asks for. Prints TAP.
#
#   SOURCE, BUILD  the folders of kry
source=$(realpath "${1:?usage: test.sh SOURCE BUILD}") build=$(realpath "${2:?}")
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
export PKG_CONFIG_PATH="$build/meson-uninstalled"
if ! cmake -S "$source/bindings/dealii" -B "$work" -DCMAKE_BUILD_TYPE=Release >"$work/out" 2>&1; then
    if ! command -v cmake >/dev/null || grep -q 'Could not find a package configuration file provided by "deal.II"' "$work/out"; then
        echo '1..0 # SKIP no CMake, or no deal.II (Debian: libdeal.ii-dev)'
        exit 0
    fi
    cat "$work/out"
    exit 1
fi
if ! cmake --build "$work" --target example test_dealii >"$work/out" 2>&1; then
    cat "$work/out"
    exit 1
fi
"$work/test_dealii" >"$work/tests"
failed=$?
count=$(($(grep -c -E '^(ok|not ok) ' "$work/tests") + 1))
grep -v '^1\.\.' "$work/tests"
if python3 "$source/bindings/check_example.py" "$source/docs/other-programs.md" "$work/example" >"$work/out" 2>&1; then
    echo "ok $count - the example prints what its page says"
else
    echo "not ok $count - the example prints what its page says"
    sed 's/^/# /' "$work/out"
    failed=1
fi
echo "1..$count"
[ "$failed" = 0 ]
