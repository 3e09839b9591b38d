#!/bin/bash
# tests/python.sh BUILD [ARGUMENT...] - the tests and examples of the Python package, with the library of a build folder
#
# The packages that the tests need are fetched from PyPI once, into BUILD/python-venv; without python3-venv or PyPI nothing
# is tested, and a line says so. Tests on ranks want an MPI, too (openmpi-bin), and say that they are skipped without; mpi4py
# works with the one that is there. The package is put together in BUILD/python as a wheel has it. Programs that kry works
# inside are fetched as well, with KRY_FULL PyTorch, too (3 GB). Arguments go to pytest, and leave the runs with these and with
# the oldest packages out.
set -euo pipefail
build=$(cd "$1" && pwd)
source=$(cd "$(dirname "$0")/.." && pwd)
shift
venv=$build/python-venv

packages=(numpy scipy cffi pytest hypothesis pyopencl mpi4py)
if [ "$(cat "$venv/complete" 2>/dev/null)" != "${packages[*]}" ]; then
    rm -rf "$venv"
    if ! python3 -m venv "$venv" >/dev/null 2>&1; then
        echo "tests/python.sh: skipped: python3-venv is not installed"
        exit
    fi
    if ! "$venv/bin/pip" install -q "${packages[@]}"; then
        echo "tests/python.sh: skipped: the packages cannot be fetched from PyPI"
        exit
    fi
    echo "${packages[*]}" >"$venv/complete"
fi

# The examples of the documentation run with the oldest packages that pyproject.toml allows, too, where this Python has them.
oldest=("numpy==1.23.*" "scipy==1.10.*" "cffi==1.15.*" pytest)
old=
if "$venv/bin/python" -c 'import sys; sys.exit(not (3, 9) <= sys.version_info < (3, 12))'; then
    old=$build/python-oldest-venv
    if [ "$(cat "$old/complete" 2>/dev/null)" != "${oldest[*]}" ]; then
        rm -rf "$old"
        python3 -m venv "$old" >/dev/null
        if "$old/bin/pip" install -q "${oldest[@]}"; then echo "${oldest[*]}" >"$old/complete"; else old=; fi
    fi
fi
[ -n "$old" ] || echo "tests/python.sh: the oldest packages are not tried: none for this Python, or not fetched"

rm -rf "$build/python"
mkdir -p "$build/python"
cp -r "$source/bindings/python/pykry" "$build/python/"
cp "$(readlink -f "$build/libkry.so")" "$build/python/pykry/libkry.so.0"
cp "$(readlink -f "$build/lib/libkry-eigenvalues.so")" "$build/python/pykry/libkry-eigenvalues.so.0"
cp "$(readlink -f "$build/lib/libkry-report.so")" "$build/python/pykry/libkry-report.so.0"
"$venv/bin/python" "$source/bindings/python/declarations.py" "$source/include:$source/lib/eigenvalues/include:$source/lib/report/include" \
    "$build/python/pykry/_declarations.py" >/dev/null

export OPENBLAS_NUM_THREADS=1 # threads of NumPy that wait would take the processors from kry
export PYTHONPATH=$build/python PYTHONDONTWRITEBYTECODE=1 KRY_CACHE_DIR=$build/kry-cache
unset KRY_CL_PATH
cd "$build/python"
adapters=$source/bindings/python/tests/test_adapters.py
if [ -n "$old" ] && [ $# = 0 ]; then
    "$old/bin/python" -m pytest -q -p no:cacheprovider --doctest-modules --doctest-glob='*.md' --rootdir "$source" \
        --ignore "$build/python/pykry/adapters" "$build/python/pykry" "$source/docs/python.md"
fi
"$venv/bin/python" -m pytest -q -rs -p no:cacheprovider --doctest-modules --doctest-glob='*.md' --rootdir "$source" \
    --ignore "$build/python/pykry/adapters" --ignore "$adapters" \
    "$build/python/pykry" "$source/bindings/python/tests" "$source/docs/python.md" "$@"
[ $# = 0 ] || exit 0

hosts=('numpy<2' scipy cffi pytest hypothesis scikit-fem fipy sfepy pymatsolver openseespy jax ${KRY_FULL:+torch})
at=$build/python-hosts-venv
if [ "$(cat "$at/complete" 2>/dev/null)" != "${hosts[*]}" ]; then
    rm -rf "$at"
    python3 -m venv "$at" >/dev/null
    if ! "$at/bin/pip" install -q "${hosts[@]}"; then
        echo "tests/python.sh: kry inside other programs is not tried: not all of ${hosts[*]} can be fetched"
        exit
    fi
    echo "${hosts[*]}" >"$at/complete"
fi
"$at/bin/python" -m pytest -q -rs -W ignore -p no:cacheprovider --rootdir "$source" "$adapters"
