#!/bin/sh
# test_cli.sh KRY - the program's exit status, sentences and numbers, from outside.
#
#   KRY   path of the program to test
#
# Compiling kernels takes most of the time. So every command and option is tried once, on few
# problems and formats; with KRY_FULL=1 also what only compiles other kernels: all formats, paths,
# preconditioners and schemes, and the tables of papers.
#
# Prints one line per failed check and ends with 1 if there was one.

kry=${1:?usage: test_cli.sh path/to/kry}
dir=$(mktemp -d "${TMPDIR:-/tmp}/kry-cli.XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
has_host=false # whether kry was built with kernels for the host
if "$kry" devices 2>/dev/null | grep -q '^host '; then has_host=true; fi
# PoCL compiles kernels in a third of the time without optimisation and without kry's own cache.
case $("$kry" devices | grep -v '^host' | head -n 1) in
*'Portable Computing Language'*) cache= ;;
*) cache=$dir/cache ;;
esac
KRY_CACHE_DIR=$cache
export KRY_CACHE_DIR
if [ -z "${KRY_FULL-}" ]; then
    POCL_EXTRA_BUILD_FLAGS=${POCL_EXTRA_BUILD_FLAGS--cl-opt-disable}
    [ -z "${KRY_TEST_BUILTINS-}" ] || # hooks.c does the same
        POCL_EXTRA_BUILD_FLAGS=$(printf '%s -DKRY_TESTING\t-include\t%s' "$POCL_EXTRA_BUILD_FLAGS" "$KRY_TEST_BUILTINS")
    export POCL_EXTRA_BUILD_FLAGS
fi
unset KRY_PROFILE
given_device=${KRY_DEVICE-}
# profile WORD - as on a device of OpenCL that has less; whole_device - no longer
profile()
{
    KRY_PROFILE=$1 KRY_DEVICE=${given_device:-opencl}
    export KRY_PROFILE KRY_DEVICE
}
whole_device()
{
    unset KRY_PROFILE
    KRY_DEVICE=$given_device
}
failures=0
checks=0

fail()
{
    failures=$((failures + 1))
    echo "FAILED: $*"
    sed 's/^/    stdout: /' "$dir/out"
    sed 's/^/    stderr: /' "$dir/err"
}

# expect STATUS PATTERN ARGUMENT... - run kry; with status 2 or 3 the pattern must stand in stderr,
# which is one "kry ...: sentence" and no crash; with 0 or 1 in stdout.
expect()
{
    want=$1 pattern=$2
    shift 2
    checks=$((checks + 1))
    "$kry" "$@" >"$dir/out" 2>"$dir/err" </dev/null
    got=$?
    # Once in some hundred runs LeakSanitizer itself falls over a thread of PoCL's that is ending: that
    # says nothing of kry, and the second run tells.
    if grep -q 'LeakSanitizer has encountered a fatal error' "$dir/err"; then
        "$kry" "$@" >"$dir/out" 2>"$dir/err" </dev/null
        got=$?
    fi
    where=$dir/out
    [ "$want" -ge 2 ] && where=$dir/err
    if [ "$got" -ne "$want" ]; then
        fail "kry $*: exit status $got, not $want"
    elif ! grep -q -e "$pattern" "$where"; then
        fail "kry $*: no \"$pattern\" in $(basename "$where")"
    elif [ "$want" -ge 2 ] && ! grep -q '^kry[a-z ]*: .' "$dir/err"; then
        fail "kry $*: no sentence on stderr"
    fi
}

full()
{
    [ -n "${KRY_FULL-}" ]
}

# The value of a key in the last --json line.
value()
{
    sed -n "s/.*\"$1\": \"\{0,1\}\([^\",}]*\).*/\1/p" "$dir/out"
}

# same_digits KEY WANTED - the value to the digits of %.4e
same_digits()
{
    checks=$((checks + 1))
    got=$(value "$1" | awk '{ printf "%.4e", $1 }')
    [ "$got" = "$2" ] || fail "$1 is $got, not $2"
}

same()
{
    checks=$((checks + 1))
    [ "$(value "$1")" = "$2" ] || fail "$1 is $(value "$1"), not $2"
}

# matrix NAME LINE... - a file in the scratch directory
matrix()
{
    name=$dir/$1
    shift
    printf '%s\n' "$@" >"$name"
}

head='%%MatrixMarket matrix coordinate real general'

# ---- usage ------------------------------------------------------------------------------------
expect 0 'kry solve' --help
expect 0 'kry solve' help
expect 0 '--rtol' help solve
expect 0 '--problem' bench --help
expect 0 '^kry [0-9]' --version
expect 0 '^kry [0-9]' version
expect 0 'kry solve' help help
# What a file is solved by, two lines to copy, and options in groups, each of which has some.
expect 0 'a file is solved by the method auto' help solve
for command in solve info generate devices bench reproduce tune kernels; do
    expect 0 "^  kry $command" help $command
    checks=$((checks + 2))
    [ "$(sed -n '/^Examples:/,/^$/p' "$dir/out" | grep -c '^  kry ')" -eq 2 ] || fail "help $command: not two examples"
    sed -n '/^Options, /,+1p' "$dir/out" | grep -v '^Options, \|^  -\|^--$' >"$dir/err" && fail "help $command: an empty group"
    grep -q '^Options, output:' "$dir/out" || fail "help $command: no group of options for output"
done
expect 2 'no command'
# Every word of a table stands in the help of the commands that take it.
for command in solve bench info; do
    "$kry" help "$command" >"$dir/help" || fail "help $command"
    for option in $(sed -n 's/^  \(-., \)*--\([a-z-]*\) .*/\2/p' "$dir/help"); do
        case $command in
        bench) set -- spmv --problem poisson2d:4 ;;
        *) set -- --problem poisson2d:4 ;;
        esac
        "$kry" "$command" "$@" "--$option" zzzz >"$dir/out" 2>"$dir/err" </dev/null
        for word in $(sed -n "s/.*--$option zzzz is not there in kry [0-9.]*; there is \([^ ;]*\).*/\1/p" "$dir/err" | tr '|' ' '); do
            checks=$((checks + 1))
            sed -n "s/^  .*--$option //p" "$dir/help" | tr '| ' '\n\n' | grep -qxF -e "$word" ||
                fail "help $command: $word of --$option"
        done
    done
done
expect 2 'did you mean solve' solv
expect 2 'did you mean spmv' bench smpv
expect 2 'did you mean gupta' reproduce gupt
expect 2 'there are solve' frobnicate
expect 2 'did you mean --rtol' solve --problem poisson2d:4 --rtoll 1e-3
expect 2 'there are --problem' solve --problem poisson2d:4 --quux
expect 2 'needs a value' solve --problem poisson2d:4 --rtol
expect 2 'needs a number' solve --problem poisson2d:4 --rtol tiny
expect 2 'needs a number' solve --problem poisson2d:4 --rtol=nan
expect 2 'whole number' solve --problem poisson2d:4 --maxit -4
expect 2 'whole number' solve --problem poisson2d:4 --maxit 3.5
expect 2 'takes no value' solve --problem poisson2d:4 --json=yes
expect 2 'twice' solve --problem poisson2d:4 --rtol 1e-3 --rtol 1e-4
expect 2 'needs one matrix' solve
expect 2 'needs one matrix' solve a.mtx b.mtx
expect 2 'needs one matrix' solve a.mtx --problem poisson2d:4
expect 2 'none, jacobi' solve --problem poisson2d:4 --precond lu
expect 2 'did you mean jacobi' solve --problem poisson2d:4 --precond jacoby
expect 2 'did you mean never' solve --problem poisson2d:4 --stop nevr
expect 2 'did you mean poisson2d' solve --problem poison2d:4
expect 2 'did you mean csr' solve --problem poisson2d:4 --format crs
expect 0 '^solver     pcg, preconditioner jacobi (left out.*deflation none, rtol=0.001' \
    solve --problem poisson2d:9 --precond jacobi --rtol 1e-3 --verbose
expect 0 '"reason": "iterations_done".*"iterations": 7' solve --problem poisson2d:9 --stop never --maxit 7 --json
expect 2 'no omega' solve --problem poisson2d:4 --omega 1.5
expect 0 '"method": "sor"' solve --problem poisson2d:4 --method sor --omega 1.2 --check-every 5 --json
expect 2 'no red-black sweep' solve --problem poisson2d:4 --format csr --method sor
expect 0 '"method": "pcg", "precond": "block-jacobi:3"' \
    solve --problem poisson2d:9 --precond block-jacobi:3 --format csr --json
expect 2 'is not block-jacobi\[:ROWS\]' solve --problem poisson2d:4 --precond block-jacobi:
if full; then
    expect 0 '"method": "jacobi"' solve --problem poisson2d:4 --method jacobi --omega 0.9 --json
    expect 0 '"precond": "ip"' solve --problem poisson2d:4 --precond ip --json
    expect 0 'chebyshev:3' solve --problem poisson2d:4 --precond chebyshev:3
    for precond in ip:drop ip:unscaled ip:unscaled,drop block-jacobi neumann neumann:3 ssor-ai \
        ssor-ai:2; do
        expect 0 '"converged": true' solve --problem poisson2d:9 --precond $precond --format csr --json
    done
fi

# What a preconditioner is, by products with it.
expect 0 'M is symmetric, positive definite' info --problem poisson2d:9 --check-precond
expect 0 "'jacobi'" info --problem poisson2d:9 --check-precond
expect 0 '"operator": "M", "kind": "jacobi".*"symmetric": true, "positive": true' \
    info --problem poisson2d:9 --check-precond --precond jacobi --precision double --json
expect 0 "'csr'" info --problem poisson2d:9 --check-precond --format csr
if full; then
    expect 0 '"operator": "M", "kind": "ip".*"symmetric": true, "positive": true' \
        info --problem poisson2d:9 --check-precond --precond ip --precision single --json
    expect 0 "'dia'" info --problem poisson2d:9 --check-precond --precond chebyshev:3 --format dia
fi
expect 2 'wants a preconditioner' info --problem poisson2d:9 --check-precond --precond none
expect 2 'needs one matrix' info --check-precond
expect 0 'chebyshev4:[23]' info --problem poisson2d:40 --levels
expect 0 '"level": 1, "rows": 400' info --problem poisson2d:40 --levels --json
expect 2 'wants multigrid' info --problem poisson2d:9 --levels --precond jacobi
expect 2 'go with --check-precond' info --problem poisson2d:9 --precond ip
cat >"$dir/skewed.mtx" <<EOF
%%MatrixMarket matrix coordinate real general
4 4 6
1 1 2
2 2 2
3 3 2
4 4 2
1 2 1.5
2 1 -1
EOF
expect 1 'M is not symmetric' info "$dir/skewed.mtx" --check-precond --precond block-jacobi:2 \
    --format csr
expect 1 'A is not symmetric' info "$dir/skewed.mtx" --check-precond --precond block-jacobi:2 \
    --format csr
expect 2 'is not symmetric: row 2 has -1 in column 1.*count from 1' \
    info "$dir/skewed.mtx" --check-precond --precond ip --format csr
cat >"$dir/dense.mtx" <<EOF
%%MatrixMarket matrix coordinate real symmetric
3 3 6
1 1 1
2 2 1
3 3 1
2 1 0.9
3 1 0.9
3 2 0.9
EOF
if full; then
    expect 1 '"symmetric": false, "positive": true' \
        info "$dir/skewed.mtx" --check-precond --precond neumann --json
    expect 0 'M is symmetric, positive' info "$dir/dense.mtx" --check-precond --precond neumann:2
    expect 1 'M is symmetric, but not positive definite' \
        info "$dir/dense.mtx" --check-precond --precond neumann:1
fi
expect 2 'single|double|mixed' solve --problem poisson2d:4 --precision half
expect 2 'single|double' bench cg --problem poisson2d:4 --precision mixed
expect 2 'reliable|flexible' solve --problem poisson2d:4 --precision mixed --scheme fast
expect 2 'scheme goes with precision=mixed' solve --problem poisson2d:4 --scheme reliable
expect 2 'outer goes with' solve --problem poisson2d:4 --outer host
expect 2 "'ELL' is no format; there are auto, csr, dia" solve --problem poisson2d:4 --format ELL
expect 2 "'slice=8'" solve --problem poisson2d:4 --format csr:slice=8
expect 2 "'fast'" solve --problem poisson2d:4 --format hyb:fast
expect 2 "'0'" solve --problem poisson2d:4 --format measure:seconds=0
expect 2 "'hybrid' is no format" bench spmv --problem poisson2d:4 --format hybrid
expect 2 'stream takes no --format' bench stream --format csr
expect 2 'stencil takes no --format' bench stencil --format csr
expect 2 'spmv takes no --null-space' bench spmv --null-space none
expect 2 'spmv takes no --resident' bench spmv --resident on
expect 2 'auto|off|on' solve --problem poisson2d:4 --resident maybe
expect 2 'random_spd:9:2 has no grid' solve --problem random_spd:9:2 --format stencil
expect 2 'random_spd:9:2 has no grid' bench spmv --n 1000 --problem random_spd:9:2 --format stencil
expect 2 'cg takes neither --hot' bench cg --hot
expect 2 'mtx takes neither --hot' bench mtx --svg "$dir/no.svg"
expect 2 'cg takes no --columns' bench cg --columns 2
expect 2 'columns 0' bench spmv --columns 0 --problem poisson2d:4
expect 2 'is no whole number above 0' solve --problem poisson2d:4 --deflation stripes:4x
expect 2 'project|none' solve --problem poisson2d:4 --null-space nail
expect 2 'none|rcm|auto' solve --problem poisson2d:4 --reorder amd
expect 2 'is for stored matrices' solve --problem poisson2d:4 --reorder rcm
expect 2 'equilibrate=on is for stored matrices' solve --problem poisson2d:4 --equilibrate on
expect 0 '"row_span"' solve --problem geograph_spd:200 --method pcg --equilibrate on --json
expect 0 'scaled by powers of two' solve --problem geograph_spd:200 --method pcg --equilibrate on
expect 0 'reverse Cuthill-McKee order' solve --problem geograph_spd:500 --precond block-ic --reorder rcm --json
expect 0 '"null_space": "project"' solve --problem poisson2d:4 --null-space project --json
expect 2 'cg|pcg|pipe-cg|block-cg|cr|richardson|mg|fmg|minres|bicgstab\[:L\]|tfqmr|gmres\[:M\]|fgmres\[:M\]|idr\[:S\]|lsqr|lsmr|direct|jacobi|sor' solve --problem poisson2d:4 --method qmr
expect 2 'sizes from 1 to 46340' solve --problem poisson2d:0
expect 2 'there are poisson2d:N' solve --problem heat:4
expect 2 'rtol' solve --problem poisson2d:4 --rtol -1
expect 2 'precision can give' solve --problem poisson2d:4 --rtol 1e-20
expect 2 'needs -o' generate poisson2d:4
expect 2 'stream, spmv' bench frobnicate
expect 2 'name of a paper' reproduce
expect 2 'there are wang, akhtar, brodtkorb, cevahir, gupta' reproduce knuth
expect 2 'wang takes no matrix' reproduce wang --problem poisson2d:4
expect 2 'cevahir takes no --max-n' reproduce cevahir --max-n 4
expect 2 '1 to 1290 points' reproduce akhtar --n 1291
expect 2 '16 to 4096' reproduce gupta --max-n 15
expect 2 'gupta takes no matrix' reproduce gupta --problem poisson2d:4
expect 2 'takes no "extra"' tune extra
expect 2 'needs one matrix' info

# ---- bad matrix files -------------------------------------------------------------------------
: >"$dir/empty.mtx"
matrix header.mtx "$head"
matrix banner.mtx '%%NotMatrixMarket matrix coordinate real general' '1 1 1' '1 1 1'
matrix few.mtx "$head" '2 2 3' '1 1 1' '2 2 1'
matrix many.mtx "$head" '2 2 1' '1 1 1' '2 2 1'
matrix counts.mtx "$head" '2 2 x' '1 1 1'
matrix negative_count.mtx "$head" '2 2 -1' '1 1 1'
matrix huge_count.mtx "$head" '2 2 99999999999999999999' '1 1 1'
matrix claims.mtx "$head" '2147483647 2147483647 4611686018427387904' '1 1 1'
matrix negative.mtx "$head" '2 2 2' '1 1 1' '-2 2 1'
matrix zero.mtx "$head" '2 2 2' '1 1 1' '0 2 1'
matrix huge.mtx "$head" '2 2 2' '1 1 1' '99999999999999999999 2 1'
matrix outside.mtx "$head" '2 2 2' '1 1 1' '3 2 1'
matrix nan.mtx "$head" '2 2 2' '1 1 nan' '2 2 1'
matrix inf.mtx "$head" '2 2 2' '1 1 1e999' '2 2 1'
matrix text.mtx "$head" '2 2 2' '1 1 one' '2 2 1'
matrix complex.mtx '%%MatrixMarket matrix coordinate complex hermitian' '1 1 1' '1 1 1 2'
for bad in empty header banner few many counts negative_count huge_count claims negative zero huge \
    outside nan inf text complex; do
    expect 2 "$bad.mtx" solve "$dir/$bad.mtx"
    expect 2 "$bad.mtx" info "$dir/$bad.mtx"
done
expect 2 'diagonal of a Hermitian matrix' solve "$dir/complex.mtx"
expect 2 'missing.mtx' solve "$dir/missing.mtx"
expect 2 'kry-cli' solve "$dir"

# complex numbers: [3 1+2i; 1-2i 5] x = [4+10i, 18+4i] for x = [1+i, 3+i]
banner='%%MatrixMarket matrix'
matrix hermitian.mtx "$banner coordinate complex hermitian" '2 2 3' '1 1 3 0' '2 1 1 -2' '2 2 5 0'
matrix hermitian_b.mtx "$banner array complex general" '2 1' '4 10' '18 4'
matrix hermitian_parts.mtx "$banner array real general" '4 1' 4 10 18 4
matrix helmholtz.mtx "$banner coordinate complex symmetric" '2 2 3' '1 1 3 1' '2 1 1 -2' '2 2 5 0'
for b in hermitian_b hermitian_parts; do
    expect 0 'n = 4' solve "$dir/hermitian.mtx" --rhs "$dir/$b.mtx" --method cg --rtol 1e-12 -o "$dir/x.mtx"
    sed 1,/^4/d "$dir/x.mtx" | awk 'BEGIN { split("1 1 3 1", x) } { d = $1 - x[NR]; if (d * d > 1e-18) exit 1 } END { if (NR != 4) exit 1 }' ||
        fail "complex numbers: $(cat "$dir/x.mtx")"
done
expect 0 'not symmetric' solve "$dir/helmholtz.mtx"
expect 2 'has coordinates' solve "$dir/hermitian.mtx" --rhs "$dir/helmholtz.mtx"
matrix twice_complex.mtx "$banner coordinate complex general" '2 2 3' '1 1 3 1' '1 1 1 -2' '2 2 5 1'
expect 2 'two entries at row 1' solve "$dir/twice_complex.mtx"
matrix square_complex.mtx "$banner array complex general" '1 1' '1 2'
expect 2 'square_complex.mtx:3: the imaginary part is 2' solve "$dir/square_complex.mtx"

matrix wide.mtx "$head" '2 3 2' '1 1 1' '2 2 1'
matrix lopsided.mtx "$head" '2 2 3' '1 1 2' '2 2 2' '1 2 1'
matrix zero_diagonal.mtx "$head" '2 2 2' '1 2 1' '2 1 1'
matrix twice.mtx "$head" '2 2 3' '1 1 2' '2 2 2' '1 1 2'
matrix indefinite.mtx "$head" '2 2 2' '1 1 1' '2 2 -1'
matrix cancel.mtx "$head" '2 2 4' '1 1 2' '2 2 2' '1 2 3' '1 2 -3'
matrix negative.mtx "$head" '2 2 2' '1 1 -2' '2 2 -2'
matrix laplace.mtx "$head" '3 3 7' '1 1 -.1' '2 2 -.3' '3 3 -.2' '1 2 .1' '2 1 .1' '2 3 .2' '3 2 .2'
matrix good.mtx "$head" '2 2 4' '1 1 2' '2 2 2' '1 2 1' '2 1 1'
matrix overflow.mtx "$head" '1 1 1' '1 1 1e300'
expect 2 'square' solve "$dir/wide.mtx"
expect 0 'wide.mtx: .* by ' solve "$dir/wide.mtx" --method lsmr
expect 0 '"reason": "[cl]' solve "$dir/wide.mtx" --method lsqr --json
expect 2 'not symmetric.*--method bicgstab' solve "$dir/lopsided.mtx" --precond jacobi
expect 0 'method     auto: .*: not symmetric' solve "$dir/lopsided.mtx"
expect 0 '"method": "auto".*"chosen": ".*symmetric' solve "$dir/good.mtx" --json
expect 0 '"method": "bicgstab:1"' solve "$dir/lopsided.mtx" --method bicgstab:1 --json
expect 2 'row 1 (counted from 1) has 0 on its diagonal.*--method minres' solve "$dir/zero_diagonal.mtx" --method pcg
expect 2 'has had an entry on line' solve "$dir/twice.mtx" --format csr
if grep -q KRY_SUM "$dir/err"; then fail 'a macro of C in a message of the program'; fi
expect 2 'has had an entry on line' solve "$dir/cancel.mtx" --format csr
expect 2 'has -1 on its diagonal.*--method minres' solve "$dir/indefinite.mtx" --precond none
expect 1 'indefinite' solve "$dir/indefinite.mtx" --precond none --rhs ones --format csr --json \
    --check none
same converged false
same true_relative_residual 1
expect 0 'what is solved is -A x = -b' solve "$dir/negative.mtx" --precond none --format csr \
    --rhs manufactured
expect 0 '"negated": true' solve "$dir/negative.mtx" --precond none --format csr --json \
    -o "$dir/negative.x" --rhs ones
grep -qx -e '-0.5' "$dir/negative.x" || fail 'the x of a negative matrix'
expect 0 '"singular": true, "negated": true' solve "$dir/laplace.mtx" --precond none --format csr --json
expect 1 'no x solves' solve "$dir/laplace.mtx" --precond none --format csr --rhs ones
if "$kry" solve "$dir/good.mtx" --method direct >/dev/null 2>&1; then # this build has factors
    expect 0 '"singular": true, "negated": true' solve "$dir/laplace.mtx" --method direct --json
    expect 0 'what is solved is -A x = -b' solve "$dir/negative.mtx" --method direct
fi
# Two chains that nothing connects, each singular, and a regular one.
printf '%s\n' '%%MatrixMarket matrix coordinate real symmetric' '7 7 11' '1 1 1' '2 1 -1' '2 2 2' '3 2 -1' \
    '3 3 1' '4 4 2' '5 4 -2' '5 5 2' '6 6 2' '7 6 -1' '7 7 2' >"$dir/parts.mtx"
expect 0 'rows of 2 parts that no entry connects' solve "$dir/parts.mtx" --precond none --format csr
expect 1 'no x solves' solve "$dir/parts.mtx" --precond none --format csr --rhs ones
# A chain with a wind, of which row 1 has more on its diagonal, and two empty rows; the same without those rows, whose rows add up to zero.
matrix windy.mtx "$head" '5 5 7' '1 1 3' '1 2 -1' '2 1 -2' '2 2 3' '2 3 -1' '3 2 -2' '3 3 2'
matrix blown.mtx "$head" '3 3 7' '1 1 1' '1 2 -1' '2 1 -2' '2 2 3' '2 3 -1' '3 2 -2' '3 3 2'
for method in auto gmres bicgstab lsqr; do
    expect 0 'singular: 2 empty rows' solve "$dir/windy.mtx" --method $method
    expect 0 'result     converged' solve "$dir/blown.mtx" --method $method --rhs manufactured
done
expect 1 'no x solves' solve "$dir/windy.mtx" --method gmres --rhs ones
expect 2 'nothing but zeros' solve "$dir/windy.mtx" --method gmres --null-space none
{ # 65 pairs
    printf '%s\n' '%%MatrixMarket matrix coordinate real symmetric' '130 130 195'
    for i in $(seq 1 2 129); do
        printf '%d %d 1\n' "$i" "$i" "$((i + 1))" "$((i + 1))"
        printf '%d %d -1\n' "$((i + 1))" "$i"
    done
} >"$dir/pairs.mtx"
expect 2 '65 parts that no entry connects.*at most 64' solve "$dir/pairs.mtx"
expect 2 'too large' solve "$dir/overflow.mtx" --precision single
expect 0 '"numerically_symmetric": false' info "$dir/lopsided.mtx" --json
expect 0 '"zero_diagonal": 2' info "$dir/zero_diagonal.mtx" --json
expect 0 '"cols": 3' info "$dir/wide.mtx" --json
expect 0 'row lengths' info "$dir/good.mtx"
expect 0 '"row_deviation": 0, .*"diagonals": 3, "csr_bytes": 60, ' info "$dir/good.mtx" --json
expect 0 '"symdia_bytes": null' info "$dir/lopsided.mtx" --json
expect 0 'storage      csr' info "$dir/good.mtx"
matrix none.mtx "$head" '0 0 0'
expect 0 '"diagonals": 0' info "$dir/none.mtx" --json

# What a file claims costs nothing: the work goes with its entries.
half='%%MatrixMarket matrix coordinate real symmetric'
matrix claims.mtx "$half" '200000000 200000000 3' '1 1 4' '100000000 100000000 2' '100000000 99999999 -1'
timeout 15 "$kry" info "$dir/claims.mtx" --json >"$dir/out" 2>"$dir/err" || fail 'info of a large claim'
grep -q '"rows": 200000000, .*"bandwidth": 1, .*"empty_rows": 199999997, .*"zero_diagonal": 199999998, .*"diagonals": 3,' \
    "$dir/out" || fail 'what info says of a large claim'
matrix wide_claims.mtx "$head" '2 2000000000 2' '1 1 4' '2 2000000000 2'
matrix tall_claims.mtx "$head" '2000000000 2 2' '1 1 4' '2000000000 2 2'
for claims in wide tall; do
    for words in 'solve --method lsqr' 'solve --method lsmr' 'solve --method auto' 'bench spmv' 'bench setup' 'bench cg'; do
        [ "$claims" = wide ] && what='2000000000 columns' || what='2000000000 rows'
        [ "$words" = 'solve --method auto' ] && what='needs it square'
        # shellcheck disable=SC2086 # words
        timeout 15 "$kry" $words "$dir/${claims}_claims.mtx" >"$dir/out" 2>"$dir/err"
        [ $? = 2 ] && grep -q "$what" "$dir/err" || fail "$words of a $claims claim: $(cat "$dir/err")"
    done
done
expect 2 'no entries in most' info "$dir/claims.mtx" --device host
timeout 15 "$kry" solve "$dir/claims.mtx" >"$dir/out" 2>"$dir/err"
[ $? = 2 ] && grep -q '200000000 rows and has 3 entries' "$dir/err" || fail 'solve of a large claim'
matrix wide.mtx "$head" '3 20000 2' '2 5 1' '3 20000 1'
expect 0 '"rows": 3, "cols": 20000, .*"bandwidth": 19997, .*"row_histogram": .1, 2.,' info "$dir/wide.mtx" --json

matrix long_b.mtx '%%MatrixMarket matrix array real general' '3 1' 1 2 3
matrix nan_b.mtx '%%MatrixMarket matrix array real general' '2 1' 1 nan
matrix b.mtx '%%MatrixMarket matrix array real general' '2 1' 3 3
expect 2 'good.mtx has no grid' solve "$dir/good.mtx" --format stencil
expect 2 'good.mtx has no grid' bench stencil --n 1000 "$dir/good.mtx"
expect 2 '3 by 1' solve "$dir/good.mtx" --rhs "$dir/long_b.mtx"
matrix twice_b.mtx "$head" '2 1 3' '1 1 2' '2 1 2' '1 1 2'
expect 2 'two entries at row 1, column 1' solve "$dir/good.mtx" --rhs "$dir/twice_b.mtx"
checks=$((checks + 1))
"$kry" generate poisson2d:5 -o "$dir/p.petsc" --rhs "$dir/p_b.petsc" || fail 'a system for PETSc'
expect 0 '"nnz": 105, .*"iterations": 5,' solve "$dir/p.petsc" --rhs "$dir/p_b.petsc" --method cg --format csr --json \
    -o "$dir/p_x.petsc"
[ "$(wc -c <"$dir/p_x.petsc")" = 208 ] || fail 'a vector for PETSc of 25 numbers'
expect 2 'nan_b.mtx' solve "$dir/good.mtx" --rhs "$dir/nan_b.mtx"
expect 2 'no_b.mtx' solve "$dir/good.mtx" --rhs "$dir/no_b.mtx"
expect 0 '"converged": true' solve "$dir/good.mtx" --rhs "$dir/b.mtx" --out "$dir/x.mtx" --format csr \
    --atol 1e-9 --json
matrix two_b.mtx '%%MatrixMarket matrix array real general' '2 2' 3 3 0 0
# A file with a matrix and a vector is a system, gzip'd or not; --rhs takes another right-hand side.
cat "$dir/p.petsc" "$dir/p_b.petsc" >"$dir/system.petsc"
gzip -c "$dir/system.petsc" >"$dir/zipped.petsc"
gzip -c "$dir/p_b.petsc" >"$dir/zipped_b.petsc"
for system in system zipped; do
    expect 0 "^rhs  *.*$system.petsc" solve "$dir/$system.petsc" --method cg --format csr -o "$dir/again.petsc"
    cmp -s "$dir/p_x.petsc" "$dir/again.petsc" || fail "the solution of $system.petsc"
    expect 0 '^rhs  *ones' solve "$dir/$system.petsc" --method cg --format csr -o "$dir/again.petsc" --rhs ones
    cmp -s "$dir/p_x.petsc" "$dir/again.petsc" && fail "--rhs of $system.petsc"
    expect 0 '^rhs  *.*zipped_b.petsc' solve "$dir/$system.petsc" --rhs "$dir/zipped_b.petsc" --method cg --format csr -o "$dir/again.petsc"
    cmp -s "$dir/p_x.petsc" "$dir/again.petsc" || fail "the solution of $system.petsc with a gzip'd vector"
done
cat "$dir/p.petsc" "$dir/p_x.petsc" "$dir/p_b.petsc" | head -c 1200 >"$dir/cut.petsc"
expect 2 'the file ends here' solve "$dir/cut.petsc"
"$kry" generate poisson2d:3 -o "$dir/p3.petsc" --rhs "$dir/p3_b.petsc" || fail 'a small system for PETSc'
cat "$dir/p.petsc" "$dir/p3_b.petsc" >"$dir/short.petsc"
expect 2 'the vector behind the matrix has 9 numbers, and the matrix 25 rows' solve "$dir/short.petsc"
expect 0 '^rhs  *random' solve "$dir/p.petsc"

# Entries at one place: both lines are named, and added up if that is asked for.
matrix twice.mtx "$head" '% from elements' '2 2 4' '1 1 3' '2 2 4' '%' '' '1 2 1' '2 2 1'
expect 2 'twice.mtx:9: row 2, column 2 (counted from 1) has had an entry on line 5. --duplicates add' solve "$dir/twice.mtx"
expect 0 '"reason": "converged"' solve "$dir/twice.mtx" --duplicates add --json -o "$dir/twice_x.mtx" --rhs ones --method lsqr
[ "$(sed 1,3d "$dir/twice_x.mtx" | awk '{ printf "%.6f ", $1 }')" = '0.266667 0.200000 ' ] || fail 'a sum of duplicates'
matrix both.mtx '%%MatrixMarket matrix coordinate real symmetric' '2 2 4' '1 1 3' '2 2 4' '1 2 1' '2 1 1'
expect 2 'both.mtx:6: row 2, column 1 (counted from 1) mirrors the entry of line 5, and a symmetric file has one triangle' \
    solve "$dir/both.mtx"
expect 2 'duplicates' solve "$dir/both.mtx" --duplicates sum

expect 2 'x has 2 columns, and a vector of PETSc has one' solve "$dir/good.mtx" --rhs "$dir/two_b.mtx" -o "$dir/two.petsc"
expect 0 '"columns": 2, "columns_converged": 2, "column_iterations": .[12], 0.,' solve "$dir/good.mtx" \
    --rhs "$dir/two_b.mtx" --out "$dir/two_x.mtx" --format csr --atol 1e-9 --json
grep -q '^2 2$' "$dir/two_x.mtx" || fail 'a solution for each column'
expect 0 '2   zero_rhs, 0 iterations' solve "$dir/good.mtx" --rhs "$dir/two_b.mtx" --format csr --method minres
expect 2 'the history of one' solve "$dir/good.mtx" --rhs "$dir/two_b.mtx" --plot "$dir/two.svg"
expect 2 '.' solve "$dir/good.mtx" --format csr --out "$dir/no/such/place.mtx"
expect 2 '.' solve "$dir/good.mtx" --format csr --plot "$dir/no/such/place.svg"
# Outputs are tried before the work, take their names when they are whole, and go where links lead.
expect 2 'same file' solve "$dir/good.mtx" -o "$dir/../$(basename "$dir")/good.mtx"
expect 2 'same file' solve --problem poisson2d:4 -o "$dir/x" --plot "$dir/x"
expect 2 'is a folder' solve --problem poisson2d:4 -o "$dir"
expect 2 'No such file' solve --problem poisson2d:4 -o "$dir/no/such.mtx"
[ -s "$dir/out" ] && fail 'a solve before its output was found to be impossible'
expect 2 'cannot write' solve --problem poisson2d:20 --plot /dev/full
[ -c /dev/full ] || fail 'a device was removed'
echo old >"$dir/target.svg"
chmod 640 "$dir/target.svg"
ln -s target.svg "$dir/link.svg"
expect 0 'converged' solve --problem poisson2d:20 --plot "$dir/link.svg"
[ -L "$dir/link.svg" ] || fail 'the link is gone'
tail -1 "$dir/target.svg" | grep -q '^</svg>' || fail 'no picture behind the link'
[ "$(stat -c %a "$dir/target.svg")" = 640 ] || fail 'the mode of a file has changed'
# A signal that ends the program while it writes leaves the old file, and no other.
echo old >"$dir/full.mtx"
(ulimit -f 8 && exec "$kry" generate poisson2d:200 -o "$dir/full.mtx") >"$dir/out" 2>"$dir/err"
[ "$(cat "$dir/full.mtx")" = old ] || fail 'a file that did not fit took the name of the old one'
# SIGTERM comes once the file that has no name yet is being written.
"$kry" generate poisson2d:2000 -o "$dir/full.mtx" >"$dir/out" 2>"$dir/err" &
writer=$!
while kill -0 $writer 2>/dev/null && ! find "/proc/$writer/fd" -lname "$dir/*" 2>/dev/null | grep -q .; do sleep 0.01; done
kill -TERM $writer || fail 'the file was written before a signal could come'
wait $writer
[ $? = 143 ] || fail 'SIGTERM did not end a program that writes'
[ "$(cat "$dir/full.mtx")" = old ] || fail 'a file that was not whole took the name of the old one'
set -- "$dir"/.kry-*
[ -e "$1" ] && fail "left behind: $1"

# A name that a terminal would obey, and that is no UTF-8: neither messages nor pictures have it.
name=$(printf 'a\033]0;title\007\377b')
cp "$dir/good.mtx" "$dir/$name.mtx"
expect 0 'a?]0;title??b.mtx' solve "$dir/$name.mtx" --format csr --rhs "$dir/b.mtx" --plot "$dir/name.svg"
LC_ALL=C grep -q "$(printf '[\033\007\377]')" "$dir/out" "$dir/name.svg" && fail 'bytes of a name came through'
iconv -f UTF-8 -t UTF-8 "$dir/name.svg" >"$dir/out" 2>&1 || fail 'a picture that is no UTF-8'
expect 2 'a?]0;title??c.mtx' solve "$dir/${name%b}c.mtx"

# Nor characters that only turn the direction of what follows.
turned=$(printf 'a\342\200\256b\342\201\246c')
cp "$dir/good.mtx" "$dir/$turned.mtx"
expect 0 'a?b?c.mtx' solve "$dir/$turned.mtx" --format csr --rhs "$dir/b.mtx" --plot "$dir/turned.svg" --html "$dir/turned.html"
LC_ALL=C grep -q "$(printf '\342\200\256')\|$(printf '\342\201\246')" "$dir/out" "$dir/turned.svg" "$dir/turned.html" &&
    fail 'the direction of a name came through'
mkdir "kry-home.$$"
env -u KRY_CACHE_DIR -u XDG_CACHE_HOME HOME="kry-home.$$" "$kry" solve "$dir/good.mtx" --rhs "$dir/b.mtx" >"$dir/out" 2>"$dir/err" ||
    fail 'a relative HOME'
rmdir "kry-home.$$" || fail 'a relative HOME got a cache'
expect 0 'converged' solve --problem poisson2d:4 --precision mixed --inner 1000000000000000000
expect 2 'from 0 to 10^18, not "1000000000000000001"' solve --problem poisson2d:4 --maxit 1000000000000000001

# Ctrl-C ends a solve: the iterate is reported and written. A busy machine may take long to begin with it.
interrupted()
{
    "$kry" solve --problem poisson2d:300 --method jacobi --rtol 1e-15 --maxit 100000000 \
        -o "$dir/stopped.mtx" >"$dir/out" 2>"$dir/err" </dev/null &
    sleep "$1"
    kill -INT $!
    wait $!
    [ $? -eq 130 ] && grep -q 'Ctrl-C at iteration' "$dir/out" && grep -q '^90000 1$' "$dir/stopped.mtx"
}
checks=$((checks + 1))
expect 1 'iteration_limit' solve --problem poisson2d:300 --method jacobi --maxit 50 --json # compiles kernels
interrupted 2 || interrupted 8 || interrupted 30 || fail 'Ctrl-C during a solve'

# ---- device and surroundings ------------------------------------------------------------------
small='solve --problem poisson2d:32 --method cg --rtol 1e-6 --json'
expect 2 'no device matches' $small --device 'no such device'
OCL_ICD_VENDORS=/nonexistent
export OCL_ICD_VENDORS
unset OCL_ICD_FILENAMES
expect 3 "open 'host'" $small --device "${given_device:-opencl}"
if $has_host; then
    expect 0 '^host ' devices
    expect 0 '"device": "host", .*"reason": "converged"' $small
    expect 0 '.' solve "$dir/good.mtx" --device host
fi
expect 0 'row lengths' info "$dir/good.mtx"
unset OCL_ICD_VENDORS

# ---- kernels ----------------------------------------------------------------------------------
# The list needs no device. A name is that of a file or of a kernel; what is printed compiles by itself.
OCL_ICD_VENDORS=/nonexistent
export OCL_ICD_VENDORS
expect 0 '^formats/csr.cl$' kernels
expect 0 '"kernel": "resident_sell", "file": "formats/resident_sell.cl", "summary": ".' kernels --json
checks=$((checks + 1))
cut -d'"' -f4,8 "$dir/out" | sort | uniq -d | grep . && fail 'a kernel is listed twice'
unset OCL_ICD_VENDORS
expect 0 '^kernel void csr_apply(' kernels csr --precision single
expect 0 '^#line 1 "common/kry.clh"$' kernels csr_apply --precision single
checks=$((checks + 1))
sed -n '1p;2q' "$dir/out" | grep -q '^// .*-DREAL=float ' || fail 'no options in the first line'
if command -v clang-15 >/dev/null; then
    checks=$((checks + 1))
    # shellcheck disable=SC2046
    clang-15 -x cl $(sed -n '1s,^//,,p;2q' "$dir/out") -fsyntax-only "$dir/out" 2>"$dir/err" || fail 'what kry kernels prints does not compile'
fi
expect 0 '"name": "vec_dot", "device": ".*-DREAL=double ' kernels vec_dot --json
expect 2 "no kernel or kernel file 'csr_aply'" kernels csr_aply
expect 2 'takes one name; there is "ell" behind it' kernels csr ell
if $has_host; then expect 2 'has no compiler of its own' kernels csr --device host; fi

mkdir "$dir/nothing"
cl_path=${KRY_CL_PATH-}
KRY_CL_PATH=$dir/nothing
export KRY_CL_PATH
KRY_CACHE_DIR=$dir/cache2
expect 3 'vec.cl\|csr.cl\|stencil.cl\|kry.clh\|direction.clh' $small --device "${given_device:-opencl}"
unset KRY_CL_PATH
[ -z "$cl_path" ] || export KRY_CL_PATH="$cl_path"

for KRY_CACHE_DIR in /proc/nonexistent /dev/full "$dir/good.mtx"; do
    expect 0 '"converged": true' $small
    same iterations 48
done
KRY_CACHE_DIR=$cache

# Iterations in single, digits of double.
mixed()
{
    expect 0 '"double_iterations": 0' \
        solve --problem poisson2d:32 --rhs manufactured --rtol 1e-12 --precision mixed --json "$@"
    value true_relative_residual | awk '!($1 <= 1e-12) { exit 1 }' || fail "not 1e-12"
}
mixed --scheme reliable --delta 0.2 --equilibrate off --outer device
mixed --scheme flexible --inner 20 --inner-rtol 0.1
if full; then
    for what in '--scheme auto' '--scheme flexible' '--scheme classical' \
        '--method jacobi --maxit 90000' '--precond ip' '--outer host' \
        '--format csr --deflation stripes:8 --delta 0.2'; do
        mixed $what
    done
    expect 0 '"converged": true' solve "$dir/good.mtx" --precision mixed --outer host --json
    same scheme reliable
fi
expect 0 '^mixed  *reliable: [0-9]* iterations in single' solve --problem poisson2d:32 --precision mixed
expect 0 '"precision": "single"' solve --problem poisson2d:32 --rtol 1e-4 --precision single --json
profile no-fp64
expect 2 'double' $small --precision double
expect 2 'double' solve --problem poisson2d:32 --precision mixed --outer device
if full; then
    for what in '' '--format csr' '--scheme flexible' '--format sell --scheme classical'; do
        expect 0 '"precision": "mixed", .*"converged": true' \
            solve --problem poisson2d:32 --rtol 1e-12 --precision mixed --json $what
        value true_relative_residual | awk '!($1 <= 1e-12) { exit 1 }' || fail "not 1e-12"
        same promotions 0
    done
    expect 0 '"converged": true' solve --problem poisson2d:32 --rtol 1e-4 --precision single --json
    same precision single
fi
profile no-such-word
expect 2 'no-such-word' $small
whole_device

# ---- numbers ----------------------------------------------------------------------------------
# Wang et al., table 1: iterations and the largest error of CG at 1e-6
wang()
{
    expect 0 '"converged": true' solve --problem "poisson2d:$1" --method cg --rtol 1e-6 --json
    same iterations "$2"
    same_digits error_inf "$3"
}
wang 32 48 3.0128e-03
wang 64 96 7.7811e-04
wang 128 192 1.9765e-04
full && wang 512 783 1.2494e-05

# Every way to hold the matrix, the same iterations.
formats='auto stencil csr measure:seconds=0.02'
full && formats="$formats dia symdia ell sell sell:slice=8,sigma=16,index=32 hyb coo
    dia:values=given measure"
for format in $formats; do
    expect 0 '"converged": true' solve --problem poisson2d:32 --method cg --rtol 1e-6 --json \
        --format "$format"
    same iterations 48
    same_digits error_inf 3.0128e-03
    case $format in
    auto | measure*) ;;
    *) same format "${format%%:*}" ;;
    esac
done
full && expect 0 '^format     symdia (asked for): 3 upper diagonals' solve --problem poisson2d:32 --format symdia
expect 2 'does not suit' solve --problem random_spd:2000:5 --format dia

# Grids need no matrix: the default.
expect 0 '^format     stencil (default)' solve --problem poisson2d:32
expect 0 '^format     stencil (asked for)' solve --problem anisotropic2d:20:0.1 --format stencil
expect 0 '"format": "stencil".*"format_chosen": "default", "padding": null' solve \
    --problem poisson2d:20 --json
same nnz 1920
full && expect 0 '^format     [a-z]* (predicted)' solve --problem random_spd:500:6
# A times x on the host, from the grid and from the entries of the matrix.
specs=poisson2d:20
full && specs='poisson2d:20 poisson3d:9 anisotropic2d:20:0.1'
for spec in $specs; do
    for format in stencil csr; do
        expect 0 '"converged": true' solve --problem "$spec" --rhs manufactured --format "$format" \
            --rtol 1e-11 --json
        checks=$((checks + 1))
        value error_rel | awk '{ exit !($1 < 1e-8) }' || fail "$spec, $format: $(value error_rel)"
        [ "$format" = csr ] || norm=$(value norm_b | awk '{ printf "%.12e", $1 }')
    done
    same_norm=$(value norm_b | awk '{ printf "%.12e", $1 }')
    [ "$same_norm" = "$norm" ] || fail "$spec: norm of b $norm, from the entries $same_norm"
done
full && expect 0 '"converged": true' solve --problem poisson2d:20 --rhs manufactured --precision single --json
expect 0 '"converged": true' solve --problem poisson2d:20 --precond jacobi --json

# ---- what is measured on a device, and kept -----------------------------------------------------
sel=${KRY_DEVICE:-$("$kry" devices --json | sed -n '1s/^{"device": "\([^"]*\)".*/\1/p')}
KRY_CACHE_DIR=$dir/cache
expect 0 '^kept in ' info --device "$sel"
expect 0 '"tuning_file": "' info --device "$sel" --json
expect 0 '^product      expected on ' info --problem poisson2d:16 --device "$sel"
expect 0 '"format": "csr", "predicted_seconds": ' info --problem poisson2d:16 --device "$sel" --json
expect 2 'no device matches' info --device 'no such device'
KRY_CACHE_DIR=$dir/kept
expect 0 '^kept in *.*/kept/tuning-' info --device "$sel"
expect 0 '^format .*(predicted)' solve --problem poisson2d:24 --format auto --device "$sel"
expect 0 '^format .*(measured)' solve --problem poisson2d:24 --device "$sel" \
    --format measure:seconds=0.02
kept=$(sed -n 's/^format  *\([a-z]*\) .*/\1/p' "$dir/out")
expect 0 "^  format/[0-9a-f]*  *$kept .* 576-by-576 nnz 2784\$" info --device "$sel"
expect 0 "^format     $kept (kept)" solve --problem poisson2d:24 --format auto --device "$sel"
expect 0 "^format     $kept (kept)" solve --problem poisson2d:24 --device "$sel" --format measure
expect 0 '^format     csr (asked for)' solve --problem poisson2d:24 --device "$sel" --format csr
expect 0 '"format_chosen": "predicted"' solve --problem poisson2d:23 --format auto --device "$sel" --json
expect 0 '"best": true' tune --device "$sel" --json
expect 0 '^  copy-bandwidth  *[0-9]' info --device "$sel"
grep -q '^  shape  *group=' "$dir/out" || fail "kry tune keeps no shape"
expect 0 '"converged": true' solve --problem poisson2d:32 --method cg --rtol 1e-6 --format auto --device "$sel" --json
same iterations 48
KRY_CACHE_DIR=
expect 0 'nothing is kept' info --device "$sel"
KRY_CACHE_DIR=$cache

expect 1 '"reason": "iteration_limit"' solve --problem poisson2d:32 --maxit 5 --json
same iterations 5
same converged false
expect 0 '"error_rel"' solve --problem random_spd:500:6 --seed 3 --format csr --json
same seed 3
expect 0 '"seed": 5' solve --problem powerlaw_spd:900:8 --seed 5 --format csr --json
expect 0 '"converged": true' solve --problem banded_spd:300:40 --format csr --json
expect 0 '"converged": true' solve --problem block_spd:300:3 --format csr --json
expect 0 '"nnz": 79592' info --problem elasticity2d:100x25:1e3 --json
expect 0 '"positive_diagonal": true' info --problem circuit_spd:400:3 --json
expect 0 '"error_rel"' solve --problem plate2d:12 --format csr --json
expect 0 '"iterations"' solve --problem geograph_spd:300 --format csr --json
if full; then
    for spec in random_spd:500:6 powerlaw_spd:900:8 banded_spd:300:40 block_spd:300:3 plate2d:12 \
        poisson3d:8; do
        expect 0 '"converged": true' solve --problem $spec --json
    done
fi
expect 2 '(NX + 1) (NY + 1)' solve --problem elasticity2d:30
expect 2 'DECADES from 0 to 12' solve --problem circuit_spd:30:13
expect 2 'B from 1 to N' solve --problem block_spd:300:0
expect 0 'converged' solve --problem poisson2d:20 --plot "$dir/plot.svg"
grep -q '</svg>' "$dir/plot.svg" || fail "the plot is not whole"

# The flow of two phases: singular, with entries of its own, without a solution that is known.
expect 0 '"nnz": 105, .*"solution": null' generate twophase2d:5 --json -o "$dir/t.mtx" --rhs "$dir/tb.mtx"
expect 0 '"declared_symmetry": "symmetric"' info "$dir/t.mtx" --json
same nnz 105
expect 0 '"positive_diagonal": true' info --problem twophase3d:6:1e4:bubble --json
same nnz 1296
awk '!/^%/ && n++ { sum += $1 } END { exit !(n == 26 && sum < 1e-12 && sum > -1e-12) }' \
    "$dir/tb.mtx" || fail "the right-hand side has no mean of zero"
grep -v '^%' "$dir/tb.mtx" >"$dir/tb1"
expect 0 '"nnz": 105' generate twophase2d:5 -o "$dir/t.mtx" --rhs "$dir/tb.mtx" --seed 2 --json
grep -v '^%' "$dir/tb.mtx" | cmp -s - "$dir/tb1" && fail "another seed gives the same right-hand side"
expect 2 'the solution of twophase2d:5 is not known' generate twophase2d:5 -o "$dir/t.mtx" \
    --solution "$dir/tu.mtx"
# A solid, whose nodes have coordinates.
expect 0 '"converged": true' solve --problem elasticity3d:3x2x4:10 --precond amg:coarsest=40 --json
expect 0 '"coordinates": "' generate elasticity2d:20x5 -o "$dir/e.mtx" --coordinates "$dir/ec.mtx" --json
expect 0 '"converged": true' solve "$dir/e.mtx" --coordinates "$dir/ec.mtx" --method pcg --precond amg:coarsest=40 --json
[ "$(value iterations)" -le 12 ] || fail 'more than 12 iterations'
expect 0 '"converged": true' solve --problem elasticity2d:20x5 --method pcg --precond amg:coarsest=40 --json
[ "$(value iterations)" -le 12 ] || fail 'more than 12 iterations'
expect 2 'is 240 by 240, but coordinates' solve "$dir/e.mtx" --coordinates "$dir/e.mtx" --method pcg --precond amg
expect 2 'block-size 3: nodes with 2 coordinates' solve "$dir/e.mtx" --coordinates "$dir/ec.mtx" --method pcg \
    --precond amg --block-size 3
expect 2 'goes with --precond amg' solve "$dir/e.mtx" --coordinates "$dir/ec.mtx"
expect 2 'no nodes of a solid' generate poisson2d:4 -o "$dir/p4.mtx" --coordinates "$dir/p4c.mtx"
expect 2 'layers, layers-faces, stripes, bubble and bubbles' info --problem twophase2d:5:10:drops
expect 2 'CONTRAST > 0' solve --problem twophase2d:5:0
full && expect 0 '"name": "stencil"' bench stencil --n 1000 --problem twophase2d:16:100:bubble --hot --json

# A written problem is solved like the generated one.
expect 0 '"nnz": 4992' generate poisson2d:32 --json -o "$dir/p.mtx.gz" --rhs "$dir/pb.mtx" --solution "$dir/pu.mtx"
expect 0 '"converged": true' solve "$dir/p.mtx.gz" --method cg --rhs "$dir/pb.mtx" --rtol 1e-6 --format csr --json
same iterations 48
same nnz 4992
expect 0 '"converged": true' solve "$dir/p.mtx.gz" --rhs manufactured --format csr --json
expect 0 '"gbytes_per_s"' bench stream --n 1000 --json
full && expect 0 '"format": "interleaved"' bench tridiagonal 5x30 --n 1000 --json
expect 2 "'5x' is no batch" bench tridiagonal --n 1000 5x
expect 0 'systems/s' bench systems 3x9
expect 2 'no small system' bench systems 3x20000
if "$kry" devices --json | grep -q '"fp64": true'; then
    expect 0 'result is VALID with' bench hpcg 16 --seconds 0
    expect 0 'FOM_Solve: nnz_AP [*] iterations' bench amg2023 12
    expect 0 'Optimized CG iterations per set": [45][0-9], .*VALID with' bench hpcg 16x24x32 --seconds 0 --json
fi
expect 2 '20 points along an axis are no multiple of 8' bench hpcg 20
expect 2 'hpcg is in double' bench hpcg 16 --precision single
expect 2 'make no use of the grid' bench hpcg 16 --format dia
expect 2 'systems takes no --seconds' bench systems 3x9 --seconds 1
expect 2 'tridiagonal takes no matrix' bench tridiagonal --problem poisson2d:4
expect 0 '"name": "spmv", .*"requested": "csr"' bench spmv --n 1000 --problem poisson2d:16 --format csr \
    --json --svg "$dir/bars.svg"
[ "$(grep -c '<rect' "$dir/bars.svg")" -eq 2 ] || fail "not one bar on a page"
grep -q '</svg>' "$dir/bars.svg" || fail "the chart is not whole"
expect 2 'does not suit' bench spmv --n 1000 --problem random_spd:2000:5 --format symdia --json
expect 0 '^csr  ' bench spmv --n 1000 --problem poisson2d:16 --hot --format csr
awk 'length > 100 { exit 1 }' "$dir/out" || fail "lines of more than 100 columns"
expect 2 'cannot write' bench spmv --n 1000 --problem poisson2d:4 --format csr --svg "$dir/no/such.svg"
expect 0 '"columns": 3, ' bench spmv --n 1000 --problem poisson2d:16 --hot --columns 3 --format dia --json
expect 0 '"columns": 2, ' bench solve --problem poisson2d:8 --format csr --method minres --columns 2 --json
expect 0 '"copies": 1' bench spmv --n 1000 --problem poisson2d:16 --hot --format csr:values=given --json
same requested csr:values=given
same precision double
expect 0 '"name": "spmv", .*"format": "stencil"' bench spmv --n 1000 --problem poisson2d:16 --hot \
    --format stencil --json
expect 0 '"name": "stencil", .*"fraction_of_copy": [0-9].*"format": "stencil"' bench stencil --n 1000 \
    --problem poisson2d:16 --json
same requested stencil
expect 0 'poisson2d:16 dia, update .* times as long' bench setup --n 1000 --problem poisson2d:16 --format dia
expect 0 '"format": "stencil"' bench cg --n 1000 --problem poisson2d:64 --json
expect 0 '"name": "cg"' bench cg --n 1000 --problem poisson2d:64 --json
expect 0 '"name": "minres"' bench cg --n 1000 --problem poisson2d:64 --method minres --json
expect 0 '"setup_s": .*"reason": "converged"' bench solve --problem poisson2d:64 --json
expect 0 ' mg  set-up .*, converged' bench solve --problem poisson2d:64
expect 2 'cg takes no --maxit' bench cg --n 1000 --maxit 7
expect 2 'stream takes no --reproducible' bench stream --n 1000 --reproducible
expect 0 '"name": "stencil_step", .*"calls": 7, .*"bytes": [0-9].*"fraction_of_copy": [0-9].*"share": 0' \
    bench kernels --n 1000 --problem poisson2d:64 --maxit 7 --resident off --json
expect 0 '^stencil_step  *[0-9]' bench kernels --n 1000 --problem poisson2d:64 --maxit 7 --resident off
awk 'length > 100 { exit 1 }' "$dir/out" || fail "lines of more than 100 columns"
expect 0 '"mtx_parse"' bench mtx --n 1000 --json
if full; then
    expect 0 '"requested": "auto"' bench spmv --n 1000 --problem poisson2d:16 --json --svg "$dir/bars.svg"
    [ "$(grep -c '"fraction_of_copy": [0-9].*"copies": 64' "$dir/out")" -eq 10 ] || fail "not ten forms"
    [ "$(grep -c '<rect' "$dir/bars.svg")" -eq 11 ] || fail "not ten bars on a page"
    expect 0 '"refused": "format dia' bench spmv --n 1000 --problem random_spd:2000:5 --hot --json
    expect 0 'does not suit' bench spmv --n 1000 --problem random_spd:2000:5 --hot
    awk 'length > 100 { exit 1 }' "$dir/out" || fail "lines of more than 100 columns"
    expect 0 '"variant": "slices of' bench cg --n 1000 --problem poisson2d:64 --format sell --json
    expect 0 '"name": "cg_reproducible".*"ratio": [0-9]' \
        bench cg --n 1000 --problem poisson2d:64 --reproducible --json
    expect 0 '^stencil  ' bench stencil --n 1000 --problem poisson2d:16 --problem anisotropic2d:9:0.5 --hot
    [ "$(grep -c '^stencil  ' "$dir/out")" -eq 2 ] || fail "not two lines"
    awk 'length > 100 { exit 1 }' "$dir/out" || fail "lines of more than 100 columns"
    expect 0 '"format": "stencil"' bench stencil --n 1000 --problem poisson2d:16 \
        --precision single --json
    expect 0 '^csr_apply_dot  *50 ' \
        bench kernels --n 1000 --problem poisson2d:64 --format csr:form=flux --method pcg
    awk 'length > 100 { exit 1 }' "$dir/out" || fail "lines of more than 100 columns"
    expect 0 '"calls": 7, .*"bytes": [0-9]' bench kernels --n 1000 --problem poisson2d:64 --maxit 7 \
        --precision single --resident off --json
fi
if command -v python3 >/dev/null; then
    checks=$((checks + 1))
    "$kry" bench spmv --n 1000 --problem poisson2d:16 --format csr --json >"$dir/out" 2>"$dir/err"
    "$kry" info --problem poisson2d:4 --json >>"$dir/out" 2>>"$dir/err"
    python3 -c 'import json, sys
for line in sys.stdin: json.loads(line)' <"$dir/out" 2>>"$dir/err" || fail "no valid JSON"
fi

# ---- the documents ------------------------------------------------------------------------------
# Every option, and every word that one takes, is in docs/command-line.md.
page=$(dirname "$0")/../../docs/command-line.md
for command in solve info generate devices bench reproduce tune kernels; do
    expect 0 "kry $command" help $command
    for option in $(sed -n 's/^  \(-[a-z], \)\{0,1\}--\([a-z-]*\).*/\2/p' "$dir/out"); do
        checks=$((checks + 1))
        grep -q -e "\`--${option}[\` ]" "$page" || fail "docs/command-line.md lacks --$option"
    done
done
"$kry" help solve >"$dir/out"
words=$(sed -n 's/^  --[a-z-]* \([a-z0-9-]*|[a-z0-9|-]*\).*/\1/p' "$dir/out" | tr '|' '\n'
    sed -n '/^Preconditioners:/,/^Problems:/s/^  \([a-z][a-z0-9-]*\).*/\1/p' "$dir/out")
[ "$(echo "$words" | wc -l)" -ge 40 ] || fail "the words are not found"
for word in $words; do
    checks=$((checks + 1))
    grep -q -e "[\`|=]${word}[\`|:=]" "$page" || fail "docs/command-line.md lacks the word $word"
done
for word in $(sed -n 's/^  \([a-z0-9_]*\):N.*/\1/p' "$dir/out"); do
    checks=$((checks + 1))
    grep -q "^| \`$word:" "$page" || fail "docs/command-line.md lacks the problem $word"
done

# ---- papers: one small table, and with KRY_FULL=1 all of them ------------------------------------
expect 0 '"row": "32", "column": "iterations", "theirs": 48, "ours": 48, "golden": 48,' \
    reproduce wang --max-n 32 --json --svg "$dir/wang"
if ! full; then
    echo "$checks checks, $failures failed; KRY_FULL=1 makes more"
    [ "$failures" -eq 0 ]
    exit
fi
expect 0 '^ *32  *48  *48  3.0128e-03 3.0128e-03 ' reproduce wang --max-n 32
expect 0 '^ *32  *48 .* -$' reproduce wang --max-n 32 --resident on
expect 2 'takes no --resident' reproduce gupta --resident on
expect 2 'at least 32, not 31' reproduce wang --max-n 31
expect 0 'on 2 of 2 devices' bench cg --problem poisson2d:60 --device cpu/2,use-all
expect 0 '"row": "32", "column": "iterations", "theirs": 48, "ours": 48, "golden": 48,' \
    reproduce wang --max-n 64 --json --svg "$dir/wang"
grep -q '"row": "64", "column": "iterations", "theirs": 96, "ours": 96, ' "$dir/out" ||
    fail "not 96 iterations"
[ "$(grep -c '"paper": "wang"' "$dir/out")" -eq 20 ] || fail "not twenty cells"
checks=$((checks + 1))
sed -n 's/.*"error_inf", "theirs": \([^,]*\), "ours": \([^,]*\), "golden": \([^,]*\),.*/\1 \2 \3/p' \
    "$dir/out" | awk 'sprintf("%.4e", $1) != sprintf("%.4e", $2) ||
        sprintf("%.6e", $2) != sprintf("%.6e", $3) { bad = 1 } END { exit bad || NR != 2 }' ||
    fail "other errors than theirs"
for figure in solution error paths; do
    checks=$((checks + 1))
    head -c 5 "$dir/wang-$figure.svg" | grep -q '^<svg ' && tail -n 1 "$dir/wang-$figure.svg" |
        grep -q '^</svg>$' || fail "wang-$figure.svg is not whole"
done
profile no-fp64
expect 2 'no double precision' reproduce wang --max-n 32
whole_device
expect 2 'cannot write' reproduce wang --max-n 32 --svg "$dir/no/such"
expect 0 '^theirs, average  *1.37  *2.70  *6.52' reproduce cevahir --problem poisson2d:9
awk 'length > 100 { exit 1 }' "$dir/out" || fail "lines of more than 100 columns"
grep -q '^theirs, average  *6.02  *9.58  *14.84  *1.59  *2.47' "$dir/out" || fail "no figure 5"
grep -q '^poisson2d:9  *81  *9 ' "$dir/out" || fail "another volume than a line of the grid"
expect 0 '"row": "average", "column": "jds", "theirs": 6.52' reproduce cevahir "$dir/good.mtx" --json
# products by four formats, CG on three teams, both with their averages
[ "$(grep -c '"paper": "cevahir", .*"golden": null, "unit": "GFLOP/s"' "$dir/out")" -eq 14 ] || fail "not fourteen cells"
[ "$(grep -c '"table": "section 4.2", .*"unit": "words"' "$dir/out")" -eq 8 ] || fail "not eight volumes"
[ "$(grep -c '"table": "accuracy, .*"golden": null' "$dir/out")" -eq 6 ] || fail "not six accuracies"
grep -q '"refused": ".*2 rows cannot be shared among 4 parts' "$dir/out" || fail "two rows on four devices"
expect 0 '"table": "figure 5", "row": "average", "column": "speed-up, 4 devices", "theirs": 2.47' \
    reproduce cevahir --problem plate2d:48 --json
grep -q '"row": "plate2d:48", "column": "double", "theirs": null, "ours": 12[0-9][0-9], "golden": 1228, ' \
    "$dir/out" || fail "not about 1228 iterations"
checks=$((checks + 1))
sed -n 's/.*"accuracy, residual", .*"column": "[md][a-z]*", .*"ours": \([^,]*\), .*/\1/p' "$dir/out" |
    awk '!($1 <= 1.01e-10) { bad = 1 } END { exit bad || NR != 2 }' || fail "mixed or double is not at 1e-10"
expect 2 'takes one device' reproduce cevahir --device cpu/2
profile no-fp64
expect 0 'no double precision to judge by' reproduce cevahir --problem poisson2d:9
whole_device
profile no-images
expect 0 '"ours": null, .*"refused": "' reproduce cevahir "$dir/good.mtx" --json
whole_device
expect 0 '"table": "figure 16", "row": "block", "column": "9", "theirs": null, "ours": [0-9]' \
    reproduce akhtar --n 9 --json --svg "$dir/akhtar"
[ "$(grep -c '"table": "table 1", .*"refused": "' "$dir/out")" -eq 8 ] || fail "table 1 is not refused"
[ "$(grep -c '"paper": "akhtar"' "$dir/out")" -eq 219 ] || fail "not 219 cells"
for figure in 12 13 16 23; do
    tail -1 "$dir/akhtar-fig$figure.svg" | grep -q '^</svg>' || fail "no figure $figure"
    [ $figure -eq 12 ] || grep -q ' d="M[^"]* L' "$dir/akhtar-fig$figure.svg" || fail "figure $figure has no line"
done
# CPUs do not run the kernels of figure 24.
[ ! -e "$dir/akhtar-fig24.svg" ] || grep -q ' d="M[^"]* L' "$dir/akhtar-fig24.svg" || fail 'an empty figure 24'
expect 0 '^stream  *[0-9]' reproduce akhtar --n 9
awk 'length > 100 { exit 1 }' "$dir/out" || fail "lines of more than 100 columns"
expect 0 '"row": "DPCG1", "column": "iterations_double", "theirs": null, "ours": [0-9]*, "golden": 28,' \
    reproduce gupta --max-n 128 --json --svg "$dir/gupta"
for table in 'table 1: 128 x 128, seconds, single' 'vectors: 128 x 128' 'twophase2d:128:1000:bubble' \
    'false convergence: twophase2d:128:1000:layers, single, ip' 'deflation, single' 'mixed precision'; do
    checks=$((checks + 1))
    grep -q "\"paper\": \"gupta\", \"table\": \"$table\", \"row\": \".*\"unit\": \"" "$dir/out" ||
        fail "no cells of $table"
done
checks=$((checks + 1))
# Random numbers of our own: three iterations, or five per cent of many.
sed -n 's/.*"ours": \([^,]*\), "golden": \([0-9]*\), "unit": "1".*/\1 \2/p' "$dir/out" |
    awk '$1 == "null" || ($1 - $2 > 3 && $1 > 1.05 * $2) || ($2 - $1 > 3 && $1 < 0.95 * $2) {
        bad = 1 } END { exit bad || NR != 40 }' || fail "counts of another program are others"
checks=$((checks + 1))
grep '"table": "mixed precision", .*"column": "residual"' "$dir/out" |
    sed -n 's/.*"ours": \([^,]*\),.*/\1/p' | awk '$1 > 1e-8 { bad = 1 } END { exit bad || NR != 7 }' ||
    fail "refinement does not get there"
checks=$((checks + 1))
grep -q '"column": "kry_solve to 1e-5", .*"refused": "the recurrence claims ' "$dir/out" ||
    fail "false convergence is not told"
for figure in counts false; do
    checks=$((checks + 1))
    tail -1 "$dir/gupta-$figure.svg" | grep -q '^</svg>' || fail "no figure $figure of gupta"
    [ -z "$(grep -o '^<path fill="none" stroke="#[0-9a-f]*"' "$dir/gupta-$figure.svg" | sort | uniq -d)" ] ||
        fail "two lines of figure $figure have one colour"
done
expect 0 '^CGVV  *-  *[0-9]' reproduce gupta --max-n 32 --precision double
awk 'length > 100 { exit 1 }' "$dir/out" || fail "lines of more than 100 columns"
expect 2 'cannot write' reproduce gupta --max-n 16 --svg "$dir/no/such"
profile no-fp64
expect 0 'which this device does not have' reproduce gupta --max-n 16
expect 2 'precision double' reproduce gupta --max-n 16 --precision double
whole_device
echo "$checks checks, $failures failed"
[ "$failures" -eq 0 ]
