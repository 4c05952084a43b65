# fish completion of gatewayctl: gatewayctl completion fish > ~/.config/fish/completions/gatewayctl.fish
function __gatewayctl_complete
    set -l words (commandline -opc)
    set -l current (commandline -ct)
    set -l program $words[1]
    set -e words[1]
    for line in ($program __complete -- $words "$current" 2>/dev/null)
        if test "$line" = ':files'
            __fish_complete_path "$current"
        else
            printf '%s\n' $line
        end
    end
end
complete -c gatewayctl -f -a '(__gatewayctl_complete)'
