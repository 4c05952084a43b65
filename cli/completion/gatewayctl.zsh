#compdef gatewayctl
# zsh completion of gatewayctl: gatewayctl completion zsh > "${fpath[1]}/_gatewayctl"
_gatewayctl() {
  local line value
  local -a described
  # The word before the cursor without its quotes, of which one may be open. It is read, not evaluated.
  local current=${(Q):-$QIPREFIX$PREFIX$compstate[quote]}
  for line in "${(@f)$("${words[1]}" __complete -- "${(@Q)words[2,CURRENT-1]}" "$current" 2>/dev/null)}"; do
    if [[ $line == :files ]]; then
      _files
    elif [[ -n $line ]]; then
      value=${line%%$'\t'*}
      value=${value//\\/\\\\}
      described+=("${value//:/\\:}:${line#*$'\t'}")
    fi
  done
  (( $#described )) && _describe -t gatewayctl gatewayctl described
}
if [[ $funcstack[1] == _gatewayctl ]]; then
  _gatewayctl "$@"
else
  compdef _gatewayctl gatewayctl
fi
