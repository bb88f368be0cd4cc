# SPDX-License-Identifier: Apache-2.0
# Makes debian/changelog of libcore/CHANGELOG.md: an entry per version, a point per line that begins with `- `. What Debian wants with it
# is always the same, and the maintainer is that of debian/control. A date has no time of day: it is midnight, UTC. Lines are broken
# anew, since Debian's have 80 columns.
# broken TEXT: a point, its lines indented as Debian's are
function broken(text,   word, n, i, line) {
  n = split(text, word, " "); line = "  *"
  for (i = 1; i <= n; ++i) {
    if (length(line) + 1 + length(word[i]) > 78) { print line; line = "   " }
    line = line " " word[i]
  }
  print line
}
function point() {
  if (text != "") broken(text)
  text = ""
}
function finish() {
  if (version == "") return
  point()
  printf "\n -- %s  %s\n", maintainer, when
}
/^## / {
  if (split($0, part, " ") != 4 || part[2] !~ /^[0-9]+[.][0-9]+[.][0-9]+$/ || part[4] !~ /^[0-9]+-[0-9]+-[0-9]+$/) {
    print "libcore/CHANGELOG.md: not `## VERSION - YYYY-MM-DD`: " $0 >"/dev/stderr"
    exit 1
  }
  finish()
  if (version != "") print ""
  version = part[2]
  command = "LC_ALL=C TZ=UTC date -R -d " part[4]
  command | getline when
  close(command)
  printf "tobi (%s-1) unstable; urgency=medium\n\n", version
  next
}
version == "" { next }
/^- / { point(); text = substr($0, 3); next }
/^  [^ ]/ { text = text " " substr($0, 3) }
END { finish() }
