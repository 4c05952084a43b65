# bash completion of gatewayctl: gatewayctl completion bash > /etc/bash_completion.d/gatewayctl
_gatewayctl() {
  local line=${COMP_LINE:0:COMP_POINT} words=() word='' is_word='' quote='' c i
  local kept='' within='' candidate rest
  # What readline replaces: since a quote, or since = or :, which it takes for ends of words.
  local from=$((${#line} - ${#2}))
  COMPREPLY=()
  # The words without their quotes. They are read, not evaluated: a $(…) in them stays text.
  for ((i = 0; i <= ${#line}; i++)); do
    ((i == from)) && kept=$word within=$quote
    c=${line:i:1}
    case $quote$c in
      ' ' | $'\t' | $'\n') [[ $is_word ]] && words+=("$word") && word='' is_word='' ;;
      \' | \") quote=$c is_word=1 ;;
      "''" | '""') quote='' ;;
      '\') ((++i)) && word+=${line:i:1} is_word=1 ;;
      '"\')
        [[ ${line:i+1:1} == [\"\\\$\`] ]] && ((i++))
        word+=${line:i:1}
        ;;
      *) word+=$c is_word=1 ;;
    esac
  done
  words+=("$word")
  ((${#words[@]} > 1)) || return
  while IFS=$'\t' read -r candidate _; do
    if [[ $candidate == :files ]]; then
      compopt -o default 2>/dev/null
    elif [[ $candidate == "$word"* ]]; then
      [[ $candidate == *= ]] && compopt -o nospace 2>/dev/null
      rest=${candidate#"$kept"}
      _gatewayctl_quote
    fi
  done < <("${words[0]}" __complete -- "${words[@]:1}" 2>/dev/null)
}
# Adds $rest to the replies, as it is written behind the quote that is open, or without one.
_gatewayctl_quote() {
  local quoted='' c i
  if [[ ! $within ]]; then
    [[ $rest ]] && printf -v quoted '%q' "$rest"
  else
    for ((i = 0; i < ${#rest}; i++)); do
      c=${rest:i:1}
      case $within$c in
        "''") quoted+="'\\''" ;;
        '"!') quoted+="\"'!'\"" ;;
        '""' | '"\' | '"$' | '"`') quoted+="\\$c" ;;
        *) quoted+=$c ;;
      esac
    done
    # A quote at an end stands for that of the word: readline would add none of its own.
    [[ $quoted == "$within"* ]] && quoted=$within$quoted
    [[ $quoted == *"$within" ]] && quoted+=$within
  fi
  COMPREPLY+=("$quoted")
}
complete -F _gatewayctl gatewayctl
