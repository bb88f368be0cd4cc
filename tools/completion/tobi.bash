# SPDX-License-Identifier: Apache-2.0
# Completion of Tobiuo's tools for bash. What a tool takes is read from its own --help when it is asked for, some 5 ms, so that it is
# that of the tool that is installed. Only what the words TEXT and NAME stand for is known here (_tobi_values).

# _tobi_read: of a --help, a line each for `command NAME`, `option NAME VALUES CHOICE...` and `word NAME VALUES CHOICE...`; VALUES is
# how many words it takes, `many` for any number. An item begins two columns in, and goes on further in.
_tobi_read() {
  awk '
    # What the text offers: {a,b}, "one of a, b", or a short range of whole numbers.
    function choices(text,   from, to, i, all) {
      if (match(text, /:\{[^}]*\}/)) { all = substr(text, RSTART + 2, RLENGTH - 3); gsub(/,/, " ", all); return all }
      if (match(text, /one of [A-Za-z0-9_-]+(, [A-Za-z0-9_-]+)*/)) { all = substr(text, RSTART + 7, RLENGTH - 7); gsub(/,/, "", all); return all }
      if (text ~ /INT in \[[0-9]+ - [0-9]\]/ && match(text, /\[[0-9]+ - /)) {
        from = substr(text, RSTART + 1) + 0; to = substr(text, RSTART + RLENGTH) + 0
        for (i = from; i <= to; ++i) all = all (i > from ? " " : "") i
      }
      return all
    }
    function done(   name, n, i, names, values) {
      if (item == "") return
      name = item; sub(/^ +/, "", name); rest = name; sub(/ .*/, "", name)
      rest = rest == name ? "" : substr(rest, length(name) + 1)
      if (section == "Subcommands:") print "command", name
      else {
        # A value is named behind one space, in capitals; what an option is for begins further right.
        values = rest ~ /^ [A-Z]+(:|=| |$)/ ? 1 : 0
        if (values && match(rest, / x [0-9]+/)) values = substr(rest, RSTART + 3, RLENGTH - 3)
        if (values && section == "Positionals:" && rest ~ /^ [^ ]+ \.\.\./) values = "many"
        sub(/\{.*/, "", name); n = split(name, names, ",")
        for (i = 1; i <= n; ++i) { sub(/\{.*/, "", names[i]); print section == "Options:" ? "option" : "word", names[i], values, choices(rest) }
      }
      item = ""
    }
    /^[A-Z][a-z]+:$/ { done(); section = $1; next }
    section == "" { next }
    /^  [^ ]/ { done(); item = $0; next }
    /^   / { item = item " " $0; next }
    { done() }
    END { done() }'
}

# What a setting may be, as the tool beside this one says.
_tobi_setting() {
  local beside=tobi-info
  case $1 in */*) beside=${1%/*}/tobi-info ;; esac
  "$beside" --settings --json 2>/dev/null | sed -n "s/.*\"name\":\"$2\".*\"choices\":\"\([^\"]*\)\".*/\1/p" | tr '|' ' '
}

# _tobi_values COMMAND NAME NUMBER CHOICES: the words that may be the NUMBERth value of NAME; `FILES` for names of files.
_tobi_values() {
  case $2,$3 in
    --svg,2 | --html,* | --plot,* | --samples,* | --papers,* | files,*) echo FILES ;;
    --transport,* | transport,*) _tobi_setting "$1" TOBI_TRANSPORT | sed 's/^auto //' ;;
    *) echo "$4" ;;
  esac
}

_tobi() {
  COMPREPLY=()
  local words=() word i
  # `--name=value` comes as three words, of which the last may not be there yet.
  for ((i = 0; i <= COMP_CWORD; ++i)); do
    word=${COMP_WORDS[i]}
    if [ "$word" = = ] && [ "$i" -gt 1 ]; then
      [ "$i" -lt "$COMP_CWORD" ] || words+=("")
    else
      words+=("$word")
    fi
  done
  words[0]=${words[0]/#\~\//$HOME/}
  local last=$((${#words[@]} - 1)) command=("${words[0]}") table kind name values choices
  local current=${words[last]} option="" number=0 wanted=0 used=0 found
  table=$("${command[@]}" --help 2>/dev/null | _tobi_read)
  for ((i = 1; i < last; ++i)); do
    word=${words[i]}
    if [ "$number" -lt "$wanted" ]; then
      number=$((number + 1))
      continue
    fi
    found=
    while read -r kind name values choices; do
      [ "$name" = "$word" ] || continue
      case $kind in
        command) found=command; break ;;
        option) found=option option=$name wanted=$values number=0; break ;;
      esac
    done <<<"$table"
    case $found in
      command) command+=("$word"); table=$("${command[@]}" --help 2>/dev/null | _tobi_read) ;;
      option) ;;
      *) used=$((used + 1)) ;;
    esac
  done

  local offered="" first=""
  if [ "$number" -lt "$wanted" ]; then
    choices=$(awk -v name="$option" '$1 == "option" && $2 == name { $1 = $2 = $3 = ""; print }' <<<"$table")
    offered=$(_tobi_values "${command[0]}" "$option" $((number + 1)) "$choices")
    # Some take several, with commas between.
    case ${command[0]##*/}$option,$current in tobi-perf--transport,*,*) first=${current%,*}, ;; esac
  elif [[ $current == -* ]]; then
    offered=$(awk '$1 == "option" { print $2 }' <<<"$table")
  else
    while read -r kind name values choices; do
      case $kind in
        command) offered+=" $name" ;;
        word) [ "$values" != many ] && [ "$used" -gt 0 ] || offered+=" $(_tobi_values "${command[0]}" "$name" 1 "$choices")" ;;
      esac
    done <<<"$table"
  fi
  if [ "${offered// /}" = FILES ]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  else
    mapfile -t COMPREPLY < <(compgen -P "$first" -W "$offered" -- "${current#"$first"}")
  fi
}
complete -F _tobi tobi-bench tobi-conform tobi-info tobi-perf tobi-report
