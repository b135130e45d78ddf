# bash completion for sbx; source it, or put it into bash-completion's directory.
_sbx_profiles() { command sbx profiles list 2>/dev/null | cut -c3- | cut -d' ' -f1; }
_sbx_files() { compopt -o filenames 2>/dev/null; mapfile -t COMPREPLY < <(compgen -f -- "$cur"); }
_sbx() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} i found
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
        --allow-write|-w) _sbx_files; return ;;
        --allow-read|-r) _sbx_files; return ;;
        --block) _sbx_files; return ;;
        --device) return ;;
        --env) return ;;
        --workspace) _sbx_files; return ;;
        --git) mapfile -t COMPREPLY < <(compgen -W 'none commit full' -- "$cur"); return ;;
        --cache) mapfile -t COMPREPLY < <(compgen -W 'none private' -- "$cur"); return ;;
        --scope) mapfile -t COMPREPLY < <(compgen -W 'cwd project' -- "$cur"); return ;;
        --protect) mapfile -t COMPREPLY < <(compgen -W 'auto enforce' -- "$cur"); return ;;
        --seccomp) mapfile -t COMPREPLY < <(compgen -W 'default strict dev off' -- "$cur"); ((${#COMPREPLY[@]})) || _sbx_files; return ;;
        --new-session) mapfile -t COMPREPLY < <(compgen -W 'auto yes no' -- "$cur"); return ;;
        --keep-fd) return ;;
        --timeout) return ;;
        --memory) return ;;
        --cpus) return ;;
        --procs) return ;;
        --file-size) return ;;
        --engine) mapfile -t COMPREPLY < <(compgen -W 'auto bwrap landlock sandbox-exec' -- "$cur"); return ;;
        --min-tier) mapfile -t COMPREPLY < <(compgen -W 'full reduced' -- "$cur"); return ;;
        --argv0) return ;;
        --command|-c) return ;;
        --config) _sbx_files; return ;;
        --log-level) mapfile -t COMPREPLY < <(compgen -W 'error warn info debug' -- "$cur"); return ;;
        --color) mapfile -t COMPREPLY < <(compgen -W 'auto always never' -- "$cur"); return ;;
        --entries) return ;;
    esac
    local run='--help -h --profile -p --allow-write -w --allow-read -r --block --device --net --no-net --env --read-only --workspace --git --cache --scope --protect --seccomp --new-session --share-pid --keep-fd --timeout --memory --cpus --procs --file-size --engine --min-tier --direct --argv0 --no-sandbox --command -c --dry-run -n --json --verbose -v --quiet -q --config --log-level --color --version' list first='' files='' tools=''
    if ((COMP_CWORD == 1)); then
        list="explain why verify doctor agent profiles status tripwire cache init config schema trust untrust shim activate alias completion man help version $run --"
    else
        case ${COMP_WORDS[1]} in
            explain) list="$run" ;;
            why) list="$run --path --host --var" files=1 ;;
            verify) list="$run" ;;
            doctor) list="--help -h --min-tier --json --fix" first='claude codex gemini qwen opencode pi goose aider cursor cline amp crush copilot' ;;
            agent) list="--help -h --profile -p --allow-write -w --allow-read -r --block --device --net --no-net --env --list --json --print-env --dry-run -n --quiet -q" first='claude codex gemini qwen opencode pi goose aider cursor cline amp crush copilot' ;;
            profiles) list="--help -h --json --flat $(_sbx_profiles)" first='list show diff' ;;
            status) list="--help -h --json" ;;
            tripwire) list="--help -h --json --quiet -q --deep --all --entries" first='list accept remove' files=1 ;;
            cache) list="--help -h --json $(_sbx_profiles)" first='list clean' ;;
            init) list="--help -h --project --print" ;;
            config) list="--help -h --json" first='show check' files=1 ;;
            schema) list="--help -h" ;;
            trust) list="--help -h --yes -y --list -l --json" files=1 ;;
            untrust) list="--help -h" files=1 ;;
            shim) list="--help -h --json --all" first='add remove list doctor' tools=1 ;;
            activate) list="--help -h" first='bash zsh fish sh' ;;
            alias) list="--help -h" first='bash zsh fish sh' tools=1 ;;
            completion) list="--help -h" first='bash zsh fish' ;;
            man) list="--help -h --roff" first='config profiles security sh sbx' ;;
            help) list="--help -h" first='explain why verify doctor agent profiles status tripwire cache init config schema trust untrust shim activate alias completion man help version' ;;
            version) list="--help -h --json" ;;
            *) list="$run --" ;;
        esac
    fi
    # Words that come first, then paths, and flags when one is begun.
    if ((COMP_CWORD != 2)); then first=; fi
    if [[ $files && $cur != -* ]]; then
        _sbx_files
        list=
    fi
    if [[ $tools && $cur != -* ]] && ((COMP_CWORD > 2)); then
        mapfile -t COMPREPLY < <(compgen -c -- "$cur")
    fi
    mapfile -t found < <(compgen -W "$first $list" -- "$cur")
    COMPREPLY+=("${found[@]}")
}
complete -F _sbx sbx
