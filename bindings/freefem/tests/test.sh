#!/bin/sh
# test.sh SOURCE BUILD - the plug-in for FreeFEM, compiled by ff-c++ as its users do. Prints TAP.
#
#   SOURCE, BUILD  the folders of kry
source=$(realpath "${1:?usage: test.sh SOURCE BUILD}") build=$(realpath "${2:?}")
freefem=$source/bindings/freefem
if ! command -v FreeFem++ >/dev/null || ! command -v ff-c++ >/dev/null; then
    echo '1..0 # SKIP no FreeFEM (Debian: freefem++, libfreefem++-dev)'
    exit 0
fi
work=$(mktemp -d) || exit 99
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 99
PKG_CONFIG_PATH=$build/meson-uninstalled
LD_LIBRARY_PATH=$build${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PKG_CONFIG_PATH LD_LIBRARY_PATH

# compile FILE... - kry.so in this folder; FreeFEM's headers have warnings of their own
compile()
{
    # shellcheck disable=SC2046 # flags are words
    if ! ff-c++ "$@" $(pkg-config --cflags --libs kry) >compiled 2>&1 || ! [ -e kry.so ]; then
        cat compiled
        exit 1
    fi
}

compile -o kry "$freefem/kry.cpp" "$freefem/tests/calls.cpp" \
    -Wl,--wrap=kry_solver_create -Wl,--wrap=kry_op_update
FreeFem++ -nw -v 0 "$freefem/tests/test_freefem.edp" >out 2>&1
failed=$?
grep -E '^(ok|not ok) ' out
count=$(grep -c -E '^(ok|not ok) ' out)
if ! grep -q '^1[.][.]' out; then # it ended early
    tail -12 out | sed 's/^/# /'
    failed=1
fi

# says WHAT SENTENCE - the script on standard input ends in FreeFEM's error with this sentence
says()
{
    count=$((count + 1))
    { echo 'load "kry" mesh Th = square(5, 5); fespace Vh(Th, P1); varf a(u, v) = int2d(Th)(dx(u)*dx(v) + u*v + dx(u)*v);
            varf b(u, v) = int2d(Th)(v);'; cat; } >script.edp
    if FreeFem++ -nw -v 0 script.edp >out 2>&1 || ! grep -q "Exec error : .*$2" out; then
        echo "not ok $count - $1"
        head -20 out | cut -c1-300 | sed 's/^/# /'
        failed=1
    else
        echo "ok $count - $1"
    fi
}

says 'a word that there is not' 'did you mean pcg' <<'END'
matrix A = a(Vh, Vh, solver="kry", sparams="method=pgc"); real[int] f = b(0, Vh), x = A^-1*f;
END
says 'cg and no symmetric matrix' 'symmetric' <<'END'
matrix A = a(Vh, Vh, solver="kry", sparams="method=cg"); real[int] f = b(0, Vh), x = A^-1*f;
END
says 'a solve that ends early' 'iterations were not enough' <<'END'
matrix A = a(Vh, Vh, solver="kry", sparams="method=bicgstab", nbiter=2); real[int] f = b(0, Vh), x = A^-1*f;
END
says 'the transpose' 'no solves with the transpose' <<'END'
matrix A = a(Vh, Vh, solver="kry"); real[int] f = b(0, Vh), x = A'^-1*f;
END
says 'a complex matrix' 'complex' <<'END'
matrix<complex> A = a(Vh, Vh); set(A, solver="kry");
END
says 'not a number in b' 'b\[3\] is -\?nan' <<'END'
matrix A = a(Vh, Vh, solver="kry"); real[int] f = b(0, Vh); f[3] = log(-1.); real[int] x = A^-1*f;
END

rm kry.so
compile "$freefem/kry.cpp"
count=$((count + 1))
if python3 "$source/bindings/check_example.py" "$source/docs/other-programs.md" FreeFem++ -nw -v 0 "$freefem/example.edp" >out 2>&1; then
    echo "ok $count - the example prints what its page says"
else
    echo "not ok $count - the example prints what its page says"
    sed 's/^/# /' out
    failed=1
fi
echo "1..$count"
[ "$failed" = 0 ]
