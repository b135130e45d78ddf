# bash completion for sbx; source it, or put it into bash-completion's directory.
_sbx_profiles() { command sbx profiles list 2>/dev/null | cut -c3- | cut -d' ' -f1; }
_sbx() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} i
    COMPREPLY=()
    # "--flag=value" comes as three words.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD-2]}
    fi
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then
            if declare -F _comp_command_offset >/dev/null; then
                _comp_command_offset $((i + 1))
            elif declare -F _command_offset >/dev/null; then
                _command_offset $((i + 1))
            elif ((i + 1 == COMP_CWORD)); then
                mapfile -t COMPREPLY < <(compgen -c -- "$cur")
            else
                mapfile -t COMPREPLY < <(compgen -f -- "$cur")
            fi
            return
        fi
    done
    case $prev in
        --profile|-p) mapfile -t COMPREPLY < <(compgen -W "$(_sbx_profiles)" -- "$cur"); return ;;
        --allow-write|-w) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
        --allow-read|-r) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
        --block) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
        --env) return ;;
        --workspace) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
        --git) mapfile -t COMPREPLY < <(compgen -W 'none commit full' -- "$cur"); return ;;
        --cache) mapfile -t COMPREPLY < <(compgen -W 'none private' -- "$cur"); return ;;
        --seccomp) mapfile -t COMPREPLY < <(compgen -W 'default dev off' -- "$cur"); return ;;
        --new-session) mapfile -t COMPREPLY < <(compgen -W 'auto yes no' -- "$cur"); return ;;
        --keep-fd) return ;;
        --timeout) return ;;
        --engine) mapfile -t COMPREPLY < <(compgen -W 'auto bwrap' -- "$cur"); return ;;
        --min-tier) mapfile -t COMPREPLY < <(compgen -W 'full reduced' -- "$cur"); return ;;
        --command|-c) return ;;
        --config) mapfile -t COMPREPLY < <(compgen -f -- "$cur"); return ;;
        --log-level) mapfile -t COMPREPLY < <(compgen -W 'error warn info debug' -- "$cur"); return ;;
    esac
    case ${COMP_WORDS[1]} in
        profiles) mapfile -t COMPREPLY < <(compgen -W "list show diff $(_sbx_profiles)" -- "$cur"); return ;;
        completion) mapfile -t COMPREPLY < <(compgen -W 'bash zsh fish' -- "$cur"); return ;;
    esac
    local list='--help -h --profile -p --allow-write -w --allow-read -r --block --net --no-net --env --read-only --workspace --git --cache --seccomp --new-session --share-pid --keep-fd --timeout --engine --min-tier --direct --no-sandbox --command -c --dry-run -n --json --verbose -v --quiet -q --config --log-level --version --'
    if ((COMP_CWORD == 1)); then list="explain why verify doctor profiles status tripwire init trust untrust completion man $list"; fi
    mapfile -t COMPREPLY < <(compgen -W "$list" -- "$cur")
}
complete -F _sbx sbx
