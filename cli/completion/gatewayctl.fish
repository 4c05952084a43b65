# fish completion of gatewayctl: gatewayctl completion fish > ~/.config/fish/completions/gatewayctl.fish
function __gatewayctl_complete
    set -l words (commandline -opc)
    set -l token (commandline -ct)
    # Without its quotes, of which one may be open. It is read, not evaluated.
    set -l current (string unescape -- $token; or string unescape -- $token\'; or string unescape -- $token\"; or string unescape -- $token\\)
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
