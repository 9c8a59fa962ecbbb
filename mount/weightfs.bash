# Completion of weightfs for bash (with the package bash-completion, or sourced by hand).
# Flags and options are asked of `weightfs COMMAND --help`, views of the mount or of `weightfs ls --all`.

_weightfs_commands() {
    weightfs --help 2> /dev/null | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p'
}

_weightfs_flags() { # COMMAND…
    weightfs "$@" --help 2> /dev/null | grep -oE '^ +(-[a-z], )?--[a-z_-]+=?' | grep -oE -e '--[a-z_-]+=?'
}

_weightfs_views() { # SOURCE
    local size
    # SIZE  1.23 GiB (or 123 B)  KIND  NAME
    weightfs ls --all "$1" 2> /dev/null | while read -r size _ _ _ name _; do
        [[ $size =~ ^[0-9]+$ ]] && echo "$name"
    done
}

_weightfs() {
    local current=${COMP_WORDS[COMP_CWORD]} command=${COMP_WORDS[1]} words=() first=2 place=0 i
    COMPREPLY=()
    if [ "$COMP_CWORD" = 1 ]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_weightfs_commands) --help --version" -- "$current" | sort -u)
        return
    fi
    if [ "$command" = cache ]; then
        [ "$COMP_CWORD" = 2 ] && mapfile -t COMPREPLY < <(compgen -W "key ls prune" -- "$current") && return
        first=3
    fi
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(compgen -W "$(_weightfs_flags "${COMP_WORDS[@]:1:first-1}") --help" -- "$current")
        [[ ${COMPREPLY[0]-} == *= ]] && compopt -o nospace
        return
    fi
    # The arguments so far that are no flags. (The value of a flag that stands apart counts as one: then files are offered.)
    for ((i = first; i < COMP_CWORD; i++)); do
        [[ ${COMP_WORDS[i]} == -* || ${COMP_WORDS[i]} == = || ${COMP_WORDS[i - 1]} == = ]] || words+=("${COMP_WORDS[i]}")
    done
    place=${#words[@]}
    case $command:$place in
    export:1 | verify:1)
        mapfile -t COMPREPLY < <(compgen -W "$(_weightfs_views "${words[0]/#\~/${HOME-}}")" -- "$current") ;;
    warm:0 | stats:0 | umount:0)
        mapfile -t COMPREPLY < <(compgen -W "$(findmnt -rno TARGET -t fuse.weightfs 2> /dev/null)" -- "$current") ;;
    warm:*)
        mapfile -t COMPREPLY < <(cd -- "${words[0]/#\~/${HOME-}}" 2> /dev/null && compgen -f -- "$current" |
            while read -r name; do [ -d "$name" ] && echo "$name/" || echo "$name"; done)
        [[ ${COMPREPLY[0]-} == */ ]] && compopt -o nospace ;;
    esac
    [ ${#COMPREPLY[@]} -gt 0 ] || compopt -o default
}

complete -F _weightfs weightfs
