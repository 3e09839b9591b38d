# Completion of kry's commands, options and words in bash. All of them come from what `kry help` prints.

_kry_help() { "${COMP_WORDS[0]}" "$@" 2>/dev/null; }

# The words that an option takes, from the help of a command: those of "--method cg|pcg|cr"; the names below
# "Preconditioners:" and "Deflation..."; devices and problems.
_kry_values()
{
    case $2 in
    --precond) _kry_help help "$1" | sed -n '/^Preconditioners:/,/^$/s/^  \([a-z][a-z0-9-]*\).*/\1/p' ;;
    --deflation) _kry_help help "$1" | sed -n '/^Deflation/,/^$/{/=/d;s/^  \([a-z]*:\{0,1\}\).*/\1/p;}' ;;
    --problem) _kry_help help "$1" | sed -n '/^Problems:/,/^$/s/^  \([a-z0-9_]*:\).*/\1/p' ;;
    --device) echo gpu cpu host gpu:all ;;
    *) _kry_help help "$1" | sed -n "s/^ .*$2 \([^ ]*|[^ ]*\).*/\1/p" | tr '|' '\n' | grep '^[a-z]' ;;
    esac
}

_kry()
{
    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} command=${COMP_WORDS[1]} words=
    if [ "$COMP_CWORD" -eq 1 ]; then
        words="$(_kry_help --help | sed -n 's/^  kry \([a-z]*\).*/\1/p') help --help --version"
    elif [ "$command" = help ]; then
        words=$(_kry_help --help | sed -n 's/^  kry \([a-z]*\).*/\1/p')
    elif [[ $word == -* ]]; then
        words=$(_kry_help help "$command" | sed -n 's/^  \(-., \)\{0,1\}\(--[a-z-]*\).*/\2/p')
    elif [[ $before == --* ]]; then
        words=$(_kry_values "$command" "$before")
    elif [ "$COMP_CWORD" -eq 2 ] && [ "$command" = kernels ]; then
        words=$(_kry_help kernels --json | sed 's/^{"kernel": "\([^"]*\)", "file": "[a-z]*.\([^"]*\)[.]cl".*/\1 \2/')
    elif [ "$COMP_CWORD" -eq 2 ]; then # kry bench stream|..., kry reproduce wang|...
        words=$(_kry_help help "$command" | sed -n '1s/^kry [a-z]* \([a-z0-9]*|[a-z0-9|]*\) .*/\1/p' | tr '|' ' ')
    fi
    mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}

# Where there is no such word: files.
complete -o bashdefault -o default -F _kry kry
