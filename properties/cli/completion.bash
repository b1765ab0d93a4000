# bash completion of mla-testbed: subcommands, options and plants, asked of the command itself.
_mla_testbed_words() { "${COMP_WORDS[0]}" completion words 2>/dev/null | sed -n "s/^$1 //p"; }
_mla_testbed() {
  local program=${COMP_WORDS[0]} word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
  local subcommand=${COMP_WORDS[1]} words
  COMPREPLY=()
  if ((COMP_CWORD == 1)) || [[ $COMP_CWORD == 2 && $subcommand == help ]]; then
    words="--help --version $("$program" --help 2>/dev/null |
      awk 'tolower($0) == "subcommands:" { on = 1; next } !/^ / { on = 0 } on { print $1 }')"
  elif [[ $word == -* ]]; then
    words=$("$program" "$subcommand" --help 2>/dev/null | grep -E '^ +-' |
      grep -oE '^ +(-h, *)?--[a-z][a-z-]*' | grep -oE -- '--.*')
  elif [[ $before == --backend ]]; then
    words=$(_mla_testbed_words --backend)
  elif [[ $before == --device ]]; then
    words=$(_mla_testbed_words --device)
  elif [[ $before == --property ]]; then
    words=$(_mla_testbed_words --property)
  elif [[ $before == : && ${COMP_WORDS[COMP_CWORD - 2]} == emulated ]]; then
    words="gfx942 gfx950" # bash breaks words at colons
  elif [[ $subcommand == plants || $before == --plant ]]; then
    words=$(_mla_testbed_words --plant)
  else
    return # a file
  fi
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$word")
}
complete -o default -F _mla_testbed mla-testbed
