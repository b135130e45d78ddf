# fish completion for sbx; put it into ~/.config/fish/completions/sbx.fish.
function __sbx_profiles; command sbx profiles list 2>/dev/null | string sub -s 3 | string replace -r ' .*' ''; end
function __sbx_before; not contains -- -- (commandline -opc); end
function __sbx_after; contains -- -- (commandline -opc); end
function __sbx_in; set -l words (commandline -opc); __sbx_before; and test (count $words) -gt 1; and contains -- $words[2] $argv; end
function __sbx_first; test (count (commandline -opc)) -eq 2; end
function __sbx_run; __sbx_before; and not __sbx_in doctor profiles status tripwire init trust untrust completion man; end
complete -c sbx -n __sbx_before -f
function __sbx_command
  set -l words (commandline -opc) (commandline -ct)
  set -l i (contains -i -- -- $words); or return
  set -e words[1..$i]
  complete -C "$words"
end
complete -c sbx -n __sbx_after -xa '(__sbx_command)'
complete -c sbx -n '__fish_use_subcommand' -a 'explain why verify doctor profiles status tripwire init trust untrust completion man'
complete -c sbx -n '__sbx_in why' -F
complete -c sbx -n '__sbx_in why' -l path -d 'Take each word for a path'
complete -c sbx -n '__sbx_in why' -l host -d 'Take each word for a host'
complete -c sbx -n '__sbx_in why' -l var -d 'Take each word for the name of a variable'
complete -c sbx -n '__sbx_in verify' -l junit -d 'Print JUnit XML'
complete -c sbx -n '__sbx_in doctor' -l help -s h -d 'Show context-sensitive help'
complete -c sbx -n '__sbx_in doctor' -l min-tier -xa 'full reduced' -d 'The tier that is wanted: full or reduced; default is the configured one'
complete -c sbx -n '__sbx_in doctor' -l json -d 'Print JSON'
complete -c sbx -n '__sbx_in profiles; and __sbx_first' -a 'list show diff'
complete -c sbx -n '__sbx_in profiles' -a '(__sbx_profiles)'
complete -c sbx -n '__sbx_in profiles' -l help -s h -d 'Show context-sensitive help'
complete -c sbx -n '__sbx_in profiles' -l json -d 'Print JSON'
complete -c sbx -n '__sbx_in profiles' -l flat -d 'With all that it extends, as one profile'
complete -c sbx -n '__sbx_in status' -l help -s h -d 'Show context-sensitive help'
complete -c sbx -n '__sbx_in status' -l json -d 'Print JSON'
complete -c sbx -n '__sbx_in tripwire; and __sbx_first' -a 'list accept remove'
complete -c sbx -n '__sbx_in tripwire' -F
complete -c sbx -n '__sbx_in tripwire' -l help -s h -d 'Show context-sensitive help'
complete -c sbx -n '__sbx_in tripwire' -l json -d 'Print JSON'
complete -c sbx -n '__sbx_in tripwire' -l quiet -s q -d 'Print nothing: the exit status says it'
complete -c sbx -n '__sbx_in tripwire' -l deep -d 'Also search the whole tree for repositories whose settings or hooks run programs, whoever put them there'
complete -c sbx -n '__sbx_in tripwire' -l all -d 'Accept all there is'
complete -c sbx -n '__sbx_in tripwire' -l entries -x -d 'How many entries the directories among them hold, as sbx tripwire says: needed to remove any'
complete -c sbx -n '__sbx_in init' -l help -s h -d 'Show context-sensitive help'
complete -c sbx -n '__sbx_in init' -l print -d 'Print the file instead of writing it'
complete -c sbx -n '__sbx_in trust' -F
complete -c sbx -n '__sbx_in trust' -l help -s h -d 'Show context-sensitive help'
complete -c sbx -n '__sbx_in trust' -l yes -s y -d 'Do not ask'
complete -c sbx -n '__sbx_in trust' -l list -s l -d 'List what is trusted'
complete -c sbx -n '__sbx_in trust' -l json -d 'Print JSON, and do not ask'
complete -c sbx -n '__sbx_in untrust' -F
complete -c sbx -n '__sbx_in untrust' -l help -s h -d 'Show context-sensitive help'
complete -c sbx -n '__sbx_in completion; and __sbx_first' -a 'bash zsh fish'
complete -c sbx -n '__sbx_in completion' -l help -s h -d 'Show context-sensitive help'
complete -c sbx -n '__sbx_in man' -l help -s h -d 'Show context-sensitive help'
complete -c sbx -n __sbx_run -l help -s h -d 'Show context-sensitive help'
complete -c sbx -n __sbx_run -l profile -s p -xa '(__sbx_profiles)' -d 'Profile: strict, moderate (default), permissive, or one of yours. Again to add more'
complete -c sbx -n __sbx_run -l allow-write -s w -rF -d 'Make PATH writable'
complete -c sbx -n __sbx_run -l allow-read -s r -rF -d 'Make PATH readable, a hidden secret too'
complete -c sbx -n __sbx_run -l block -rF -d 'Hide PATH'
complete -c sbx -n __sbx_run -l net -d 'Share the network'
complete -c sbx -n __sbx_run -l no-net -d 'No network, whatever the profile says'
complete -c sbx -n __sbx_run -l env -x -d 'Let variables through by name or pattern (\'GH_*\'), or set one'
complete -c sbx -n __sbx_run -l read-only -d 'Make the working directory read-only'
complete -c sbx -n __sbx_run -l workspace -rF -d 'Show the working directory at PATH inside'
complete -c sbx -n __sbx_run -l git -xa 'none commit full' -d 'What of .git is writable: none, commit or full'
complete -c sbx -n __sbx_run -l cache -xa 'none private' -d 'Where ~/.cache goes: none or private (to the project)'
complete -c sbx -n __sbx_run -l protect -xa 'enforce watch' -d 'Protected paths where the engine cannot make them read-only: enforce (nothing beside them can be made) or watch (say what changed)'
complete -c sbx -n __sbx_run -l seccomp -rFa 'default strict dev off' -d 'System call filter: default, strict (only what is usual), dev (debuggers work) or off; or a file in the form of Docker and OCI'
complete -c sbx -n __sbx_run -l new-session -xa 'auto yes no' -d 'A session of its own, without the terminal: auto, yes or no'
complete -c sbx -n __sbx_run -l share-pid -d 'Share the processes of the host: they can be seen and, before Linux 6.12, signalled'
complete -c sbx -n __sbx_run -l keep-fd -x -d 'Pass descriptor N on, whatever it leads to'
complete -c sbx -n __sbx_run -l timeout -x -d 'End the command after this time (30s, 5m)'
complete -c sbx -n __sbx_run -l memory -x -d 'Limit the memory of all processes together (512M, 2G)'
complete -c sbx -n __sbx_run -l cpus -x -d 'Limit processor time to that of N processors (1, 0.5)'
complete -c sbx -n __sbx_run -l procs -x -d 'Limit the number of processes and threads'
complete -c sbx -n __sbx_run -l file-size -x -d 'Limit the size of each file that is written (512K, 100M)'
complete -c sbx -n __sbx_run -l engine -xa 'auto bwrap landlock' -d 'auto, bwrap, or landlock (tier reduced, needs nothing installed)'
complete -c sbx -n __sbx_run -l min-tier -xa 'full reduced' -d 'Refuse to run with less than this: full or reduced'
complete -c sbx -n __sbx_run -l direct -d 'Leave out the stage, sbx as process 1: a millisecond sooner, and signals are bwrap\'s business'
complete -c sbx -n __sbx_run -l argv0 -x -d 'Call the command by this name (its argument 0)'
complete -c sbx -n __sbx_run -l no-sandbox -d 'Run without a sandbox, with a warning'
complete -c sbx -n __sbx_run -l command -s c -x -d 'Run a string with the shell; words after -- are $0, $1, …'
complete -c sbx -n __sbx_run -l dry-run -s n -d 'Print what would be executed, and do not'
complete -c sbx -n __sbx_run -l json -d 'Print JSON (with --dry-run, explain, why, doctor and profiles)'
complete -c sbx -n __sbx_run -l verbose -s v -d 'List every restriction on standard error'
complete -c sbx -n __sbx_run -l quiet -s q -d 'Say nothing but errors'
complete -c sbx -n __sbx_run -l config -rF -d 'Read FILE in the place of the user\'s config file'
complete -c sbx -n __sbx_run -l log-level -xa 'error warn info debug' -d 'Log what is read and decided to standard error: error, warn, info or debug'
complete -c sbx -n __sbx_run -l version -d 'Print the version'
