# fish completion for sbx: put it into ~/.config/fish/completions/sbx.fish.
# What may come next sbx itself says; see sbx completion --help.
function __sbx_complete
    set -l words (commandline -opc)
    set -l cur (commandline -ct)
    set -e words[1]
    set -l lines (command sbx __complete $words "$cur" 2>/dev/null)
    if set -q lines[2]
        printf '%s\n' $lines[2..-1]
    end
    switch "$lines[1]"
        case ':command *' # math takes numbers alone
            set -l at (math (string replace ':command ' '' -- $lines[1]) + 1)
            if test $at -gt (count $words)
                complete -C "$cur"
            else
                complete -C (string join -- ' ' (string escape -- $words[$at..-1]) "$cur")
            end
        case :files
            __fish_complete_path "$cur"
    end
end
complete -c sbx -f -a '(__sbx_complete)'
