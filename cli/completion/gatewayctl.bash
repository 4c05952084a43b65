# bash completion of gatewayctl: gatewayctl completion bash > /etc/bash_completion.d/gatewayctl
_gatewayctl() {
  local line=${COMP_LINE:0:COMP_POINT} last=$2 words=() current prefix candidate
  COMPREPLY=()
  read -ra words <<<"$line"
  [[ $line == *[[:space:]] ]] && words+=('')
  (( ${#words[@]} > 1 )) || return
  current=${words[${#words[@]}-1]}
  # What readline leaves as it is, because it takes = and : for ends of words.
  prefix=${current%"$last"}
  while IFS=$'\t' read -r candidate _; do
    if [[ $candidate == :files ]]; then
      compopt -o filenames 2>/dev/null
      while IFS= read -r candidate; do COMPREPLY+=("$candidate"); done < <(compgen -f -- "$last")
    elif [[ $candidate == "$current"* ]]; then
      [[ $candidate == *= ]] && compopt -o nospace 2>/dev/null
      printf -v candidate '%q' "${candidate#"$prefix"}"
      COMPREPLY+=("$candidate")
    fi
  done < <("${words[0]}" __complete -- "${words[@]:1}" 2>/dev/null)
}
complete -F _gatewayctl gatewayctl
