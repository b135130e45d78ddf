# fish completion for sbx; put it into ~/.config/fish/completions/sbx.fish.
function __sbx_profiles; command sbx profiles list 2>/dev/null | string sub -s 3 | string replace -r ' .*' ''; end
function __sbx_before; not contains -- -- (commandline -opc); end
function __sbx_after; contains -- -- (commandline -opc); end
complete -c sbx -n __sbx_before -f
function __sbx_command
  set -l words (commandline -opc) (commandline -ct)
  set -l i (contains -i -- -- $words); or return
  set -e words[1..$i]
  complete -C "$words"
end
complete -c sbx -n __sbx_after -xa '(__sbx_command)'
complete -c sbx -n '__fish_use_subcommand' -a 'explain why verify doctor profiles status tripwire init trust untrust completion man'
complete -c sbx -n '__fish_seen_subcommand_from profiles' -a 'list show diff (__sbx_profiles)'
complete -c sbx -n '__fish_seen_subcommand_from completion' -a 'bash zsh fish'
complete -c sbx -n __sbx_before -l help -s h -d 'Show context-sensitive help'
complete -c sbx -n __sbx_before -l profile -s p -xa '(__sbx_profiles)' -d 'Profile: strict, moderate (default), permissive, or one of yours. Again to add more'
complete -c sbx -n __sbx_before -l allow-write -s w -rF -d 'Make PATH writable'
complete -c sbx -n __sbx_before -l allow-read -s r -rF -d 'Make PATH readable, a hidden secret too'
complete -c sbx -n __sbx_before -l block -rF -d 'Hide PATH'
complete -c sbx -n __sbx_before -l net -d 'Share the network'
complete -c sbx -n __sbx_before -l no-net -d 'No network, whatever the profile says'
complete -c sbx -n __sbx_before -l env -x -d 'Let variables through by name or pattern (\'GH_*\'), or set one'
complete -c sbx -n __sbx_before -l read-only -d 'Make the working directory read-only'
complete -c sbx -n __sbx_before -l workspace -rF -d 'Show the working directory at PATH inside'
complete -c sbx -n __sbx_before -l git -xa 'none commit full' -d 'What of .git is writable: none, commit or full'
complete -c sbx -n __sbx_before -l cache -xa 'none private' -d 'Where ~/.cache goes: none or private (to the project)'
complete -c sbx -n __sbx_before -l seccomp -xa 'default dev off' -d 'System call filter: default, dev (debuggers work) or off'
complete -c sbx -n __sbx_before -l new-session -xa 'auto yes no' -d 'Detach from the terminal: auto, yes or no'
complete -c sbx -n __sbx_before -l share-pid -d 'Share the processes of the host: they can be seen and signalled'
complete -c sbx -n __sbx_before -l keep-fd -x -d 'Pass descriptor N on, whatever it leads to'
complete -c sbx -n __sbx_before -l timeout -x -d 'End the command after this time (30s, 5m)'
complete -c sbx -n __sbx_before -l engine -xa 'auto bwrap' -d 'auto or bwrap'
complete -c sbx -n __sbx_before -l min-tier -xa 'full reduced' -d 'Refuse to run with less than this: full or reduced'
complete -c sbx -n __sbx_before -l direct -d 'Never put a stage of sbx around the command; --timeout needs one'
complete -c sbx -n __sbx_before -l no-sandbox -d 'Run without a sandbox, with a warning'
complete -c sbx -n __sbx_before -l command -s c -x -d 'Run a string with the shell; words after -- are $0, $1, …'
complete -c sbx -n __sbx_before -l dry-run -s n -d 'Print what would be executed, and do not'
complete -c sbx -n __sbx_before -l json -d 'Print JSON (with --dry-run, explain, why, doctor and profiles)'
complete -c sbx -n __sbx_before -l verbose -s v -d 'List every restriction on standard error'
complete -c sbx -n __sbx_before -l quiet -s q -d 'Say nothing but errors'
complete -c sbx -n __sbx_before -l config -rF -d 'Read FILE in the place of the user\'s config file'
complete -c sbx -n __sbx_before -l log-level -xa 'error warn info debug' -d 'Log what is read and decided to standard error: error, warn, info or debug'
complete -c sbx -n __sbx_before -l version -d 'Print the version'
