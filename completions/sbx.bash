# bash completion for sbx: source it, or install it as bash-completion/completions/sbx.
# What may come next sbx itself says; see sbx completion --help.
_sbx_command() { # the program at word $1 and its words complete as if they stood alone
    local name=${COMP_WORDS[$1]} spec
    if declare -F _comp_command_offset >/dev/null; then
        _comp_command_offset "$1"
    elif declare -F _command_offset >/dev/null; then
        _command_offset "$1"
    elif (($1 >= COMP_CWORD)); then
        COMPREPLY=()
        while IFS= read -r spec; do COMPREPLY+=("$spec"); done < <(compgen -c -- "$2")
    elif spec=$(complete -p -- "${name##*/}" 2>/dev/null) && [[ $spec =~ \ -F\ ([^\ ]+)\  ]]; then
        COMP_WORDS=("${COMP_WORDS[@]:$1}")
        COMP_CWORD=$((COMP_CWORD - $1))
        COMP_LINE="${COMP_WORDS[*]}"
        COMP_POINT=${#COMP_LINE}
        "${BASH_REMATCH[1]}" "$name" "$2" "${COMP_WORDS[COMP_CWORD - 1]}"
    else
        compopt -o default 2>/dev/null
    fi
}
_sbx() {
    local cur=${COMP_WORDS[COMP_CWORD]} line kind word
    local -a before=("${COMP_WORDS[@]:1:COMP_CWORD-1}") found=()
    COMPREPLY=()
    # "--flag=value" comes as three words.
    if [[ $cur == = ]]; then
        before+=("$cur")
        cur=
    fi
    compopt +o default 2>/dev/null
    while IFS= read -r line; do
        word=${line%%$'\t'*}
        if [[ -z $kind ]]; then # the first line says what else may stand there
            kind=$line
        elif [[ $word == "${cur#[\"\']}"* ]]; then
            [[ $word != *[!A-Za-z0-9_./,:=@%+-]* ]] || printf -v word %q "$word"
            found+=("$word")
        fi
    done < <(command sbx __complete "${before[@]}" "$cur" 2>/dev/null)
    case $kind in
        ":command "*)
            line=${kind#:command } # a number, and nothing else: $((…)) runs what stands in it
            [[ $line == *[!0-9]* ]] || _sbx_command $((line + 1)) "$cur"
            ;;
        :files)
            if ((${#found[@]})); then
                compopt -o filenames 2>/dev/null
                while IFS= read -r line; do COMPREPLY+=("$line"); done < <(compgen -f -- "$cur")
            else
                compopt -o default 2>/dev/null
            fi
            ;;
    esac
    if ((${#found[@]})); then COMPREPLY+=("${found[@]}"); fi
}
complete -o default -F _sbx sbx
