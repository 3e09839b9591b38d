# packages.sh - for tools/setup and tools/test: see to it that Debian packages are installed, and compile.

# say SENTENCE... - one line about what happens
say() { printf '%s: %s\n' "$0" "$*"; }

# fail SENTENCE...
fail()
{
    printf '%s: %s\n' "$0" "$*" >&2
    exit 1
}

installed() { [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]; }

# need_packages NAME... - install what is missing; as root only, else say what to do
need_packages()
{
    local missing=() name
    command -v dpkg-query >/dev/null ||
        fail "this is not Debian, so install by yourself what stands for: $*; then" \
            "'meson setup build && meson test -C build' builds and tests kry."
    for name; do installed "$name" || missing+=("$name"); done
    if [ ${#missing[@]} -eq 0 ]; then
        say "the packages it needs are there: $*"
        return
    fi
    [ "$(id -u)" -eq 0 ] ||
        fail "these packages are missing: ${missing[*]}. Run as root:" \
            "apt-get update && apt-get install --no-install-recommends ${missing[*]}"
    say "installing the packages that are missing: ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -qq || fail "'apt-get update' failed, so these stay missing: ${missing[*]}"
    apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null ||
        fail "'apt-get install' failed for: ${missing[*]}"
}

# compile DIR TARGET... - ninja, whose steps show how far it is: one line in a terminal, else every hundredth step
compile()
{
    local dir=$1
    shift
    if [ -t 1 ]; then
        ninja -C "$dir" "$@"
    else
        NINJA_STATUS='[%f/%t] ' ninja -C "$dir" "$@" |
            awk '!/^\[[0-9]+\/[0-9]+\] / || /^\[[0-9]*00\// { print; fflush() }'
    fi
}
