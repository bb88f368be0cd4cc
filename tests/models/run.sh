#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# lane: beside, 22 s
# Checks each Promela model with Spin over all interleavings; and, so that a model that proves nothing is noticed, a mutant of each,
# in which one step of the protocol is left out, which must fail. Two are checked at a time. The mutants are for a soak: what
# they check is the models. So are those with more than ten million states.
. "$(dirname "$0")/../harness.inc"
if ! command -v spin >/dev/null; then skip "models: spin is not installed (package spin)"; finish; fi
work=$folder/models
mkdir "$work"
started=0
later() {  # what it says is shown at the end, in the order of the list
  [ "$1" = expect_right ] || [ -n "${SOAK:-}" ] || return 0
  while [ "$(jobs -rp | wc -l)" -ge 2 ]; do wait -n; done
  started=$((started + 1))
  "$@" >"$work/$(printf '%02d' $started).said" 2>&1 &
}

# verify NAME FILE: 0 when Spin finds no error and the search was complete.
verify() {
  mkdir -p "$work/$1" && cd "$work/$1" && cp "$2" model.pml || return 2
  # shellcheck disable=SC2086 # words
  spin -a ${defines:-} model.pml >spin.log 2>&1 || { cat spin.log; return 2; }
  cc ${optimize:--O1} -w -DSAFETY -DVECTORSZ=4096 -o pan pan.c >cc.log 2>&1 || { cat cc.log; return 2; }
  ./pan -m2000000 >pan.log 2>&1
  grep -q 'errors: 0' pan.log && ! grep -q 'max search depth too small' pan.log
}
expect_right() {
  if verify "$1" "$2"; then ok "$1: no error in $(awk '/states, stored/ {print $1; exit}' pan.log) states"
  else not_ok "$1" "$(grep -E 'pan:|error' pan.log)"; fi
}
expect_wrong() {  # NAME FILE SED-EXPRESSION: the mutant must differ, and fail
  sed "$3" "$2" >"$work/$1.pml"
  if cmp -s "$2" "$work/$1.pml"; then not_ok "mutant $1: the expression changes nothing"; return; fi
  optimize=-O0 verify "$1" "$work/$1.pml"; status=$?  # most of a mutant's time is its compiler's
  if [ $status -eq 1 ] && grep -q 'assertion violated\|invalid end state' pan.log; then ok "mutant $1 is found wrong"
  else not_ok "mutant $1 passes"; fi
}

m=$ROOT/tests/models
! in_soak || later expect_right steal_word "$m/steal_word.pml"
later expect_wrong steal_word-without-acknowledgement "$m/steal_word.pml" 's/(ack\[AT(win, top\[win\] - i)\] == top\[win\] - i); i++/i++/'
later expect_wrong steal_word-without-second-look "$m/steal_word.pml" 's/^ *e_cell = entry_cell\[AT(w, t)\];$//'
later expect_wrong steal_word-without-tag-and-claim "$m/steal_word.pml" 's/:: top\[w\] == t \&\& split\[w\] == s \&\& tag\[w\] == g -> top/:: true -> top/'
defines="-DWINDOWS=2"
later expect_right steal_word-two-windows "$m/steal_word.pml"
later expect_wrong steal_word-goes-on-before-the-near-acknowledgements "$m/steal_word.pml" 's/^ *await_acknowledgements(NEAR);$//'
later expect_wrong steal_word-goes-on-before-the-far-acknowledgements "$m/steal_word.pml" 's/^ *await_acknowledgements(FAR);$//'
later expect_wrong steal_word-forgets-what-is-left "$m/steal_word.pml" 's/:: SHOWN(NEAR) == 0 \&\& SHOWN(FAR) == 0 -> break/:: true -> break/'
later expect_wrong steal_word-goes-on-with-the-oldest "$m/steal_word.pml" 's/YOUNGEST(NEAR) > YOUNGEST(FAR)/YOUNGEST(NEAR) < YOUNGEST(FAR)/;s/YOUNGEST(FAR) > YOUNGEST(NEAR)/YOUNGEST(FAR) < YOUNGEST(NEAR)/'
later expect_wrong steal_word-moves-beside-younger-ones "$m/steal_word.pml" 's/shown == depth \&\& SHOWN(FAR) == 0 \&\&/shown == depth \&\& SHOWN(FAR) < RING \&\&/'
defines=
[ -z "${SOAK:-}" ] || later expect_right attendant "$m/attendant.pml"
later expect_wrong attendant-without-fence "$m/attendant.pml" 's/^ *heavy_fence();  .\* of hold_back.*$//'
later expect_wrong attendant-believes-bottom "$m/attendant.pml" 's/:: now < until -> until = now .*$/:: false -> skip/'
later expect_wrong attendant-believes-slots "$m/attendant.pml" 's/ \&\& lies_at\[slot\[held\]\] >= line//'
later expect_wrong attendant-door-without-fence "$m/attendant.pml" 's/^ *heavy_fence();  .\* of the door.*$//'
later expect_wrong attendant-owner-compares-first "$m/attendant.pml" 's/^       stores!BOTTOM,0,(depth - 1);$//;s/popped\[f\] = true; depth-- }$/popped[f] = true; depth-- }; stores!BOTTOM,0,depth/'
later expect_right division "$m/division.pml"
later expect_wrong division-shows-who-has-sent "$m/division.pml" 's/:: middle != w -> skip  .* it was told.*$/:: middle != w -> if :: entry[w] = SHOWN :: skip fi/'
later expect_wrong division-keeps-to-its-group "$m/division.pml" 's/:: hi == lo \&\& !open\[w\] -> open.*$/:: false -> skip/'
later expect_wrong division-shows-and-keeps "$m/division.pml" 's/ready\[w\] = sent\[w\]; sent\[w\] = NONE }/ready[w] = sent[w] }/'
later expect_wrong division-without-attendants "$m/division.pml" 's/^  :: atomic { !OVER.*$//'
later expect_right greedy_join "$m/greedy_join.pml"
later expect_wrong greedy_join-value-after-done "$m/greedy_join.pml" 's/^  value = 1;$/  skip;/'
later expect_wrong greedy_join-without-list "$m/greedy_join.pml" 's/next\[me\] = seen;/next[me] = 0;/'
later expect_wrong greedy_join-child-with-its-next "$m/greedy_join.pml" 's/:: list < TREE -> keep/:: true -> keep/'
later expect_wrong greedy_join-follows-what-is-gone "$m/greedy_join.pml" 's/second >= 1 \&\& second <= JOINERS \&\& s == n/second != 0 \&\& s == n/;s/^               d_step {$/               d_step { assert(second <= JOINERS);/'
later expect_wrong greedy_join-enlists-beside-done "$m/greedy_join.pml" 's/:: word == seen -> word = me;/:: word % DONE == seen -> word = word - seen + me;/'
later expect_wrong greedy_join-two-atomics-in-place-of-one "$m/greedy_join.pml" 's/atomic { old = word; word = word + DONE }/old = word; word = DONE/'
later expect_right record_look "$m/record_look.pml"
later expect_wrong record_look-believes-what-came-with-the-word "$m/record_look.pml" 's/^  :: else -> d_step { h = head; f = first; s = second }$/  :: else -> skip/'
later expect_wrong record_look-in-memory-as-it-was "$m/record_look.pml" 's/^  second = NOTYET;$//'
later expect_wrong record_look-with-the-head-as-it-was "$m/record_look.pml" 's/^  head = CHILD;$//'
later expect_wrong record_look-believes-the-head-alone "$m/record_look.pml" 's/^#define WRITTEN .*/#define WRITTEN (h >= RESULT)/'
later expect_wrong record_look-done-before-the-value "$m/record_look.pml" 's/^  written_in_any_order(parts);$/  word = 1; written_in_any_order(parts);/;s/^  word = 1$/  skip/'
later expect_right queue "$m/queue.pml"
later expect_wrong queue-claims-before-copies "$m/queue.pml" '/has_room: what is copied/{h;d};/has_room: what is claimed/G'
later expect_wrong queue-room-without-copies "$m/queue.pml" 's/:: seen == tail -> reused = seen/:: true -> reused = tail/'
later expect_wrong queue-split-by-a-store "$m/queue.pml" 's/:: claims == k \&\& count == n -> claims = 0/:: true -> claims = 0/'
later expect_wrong queue-told-before-the-copy "$m/queue.pml" 's/^            copied++;.*$//;s/^            task = place/            copied++; task = place/'
later expect_right termination "$m/termination.pml"
later expect_wrong termination-forgets-steals "$m/termination.pml" 's/void_ = (claimed\[me\] != counted) ||/void_ = false ||/'
later expect_wrong termination-forgets-its-children "$m/termination.pml" 's/ || IS_VOID(2 \* me + 1) || IS_VOID(2 \* me + 2);/;/'
later expect_wrong termination-waits-for-no-child "$m/termination.pml" 's/:: !sent \&\& HAS_TOKEN.*->/:: !sent ->/'
later expect_right ready_word "$m/ready_word.pml"
later expect_wrong ready_word-read-before-the-claim "$m/ready_word.pml" 's/:: seen != NONE \&\& word\[w\] == seen -> word/:: seen != NONE -> word/'
later expect_wrong ready_word-freed-before-the-copy "$m/ready_word.pml" 's/^  t = cell\[c\];$/  t = cell[c]; cell[c] = NONE;/;s/t = 0; cell\[c\] = NONE; left/t = 0; left/'
later expect_wrong ready_word-fills-what-is-full "$m/ready_word.pml" 's/:: word\[1\] == NONE \&\& cell\[0\] == NONE -> fill/:: cell[0] == NONE -> fill/;s/assert(word\[a\] == NONE); //'
defines="-DCOMPLETIONS=0 -DLOOKS=0"
[ -z "${SOAK:-}" ] || later expect_right standstill "$m/standstill.pml"
later expect_wrong standstill-one-round "$m/standstill.pml" 's/read_all(sum2, diff2, ok);/sum2 = sum1; diff2 = diff1;/'
later expect_wrong standstill-without-counters "$m/standstill.pml" 's/sum1 == sum2 \&\& diff2 == 0/sum1 == sum2/'
later expect_wrong standstill-counts-before-it-leaves "$m/standstill.pml" 's/:: state\[me\] % 2 == 0 -> state\[me\]++/:: false -> skip/'
defines="-DSENDS=2 -DCLAIMS=0 -DCOMPLETIONS=0 -DLOOKS=0"
later expect_right standstill-sends "$m/standstill.pml"
later expect_wrong standstill-forgets-what-it-sent "$m/standstill.pml" 's/^       claims\[me\]++$/       skip/'
later expect_wrong standstill-runs-what-it-was-sent-before-it-leaves "$m/standstill.pml" 's/:: state\[me\] % 2 == 0 -> state\[me\]++/:: false -> skip/'
defines=-DCLAIMS=0
later expect_right standstill-looks "$m/standstill.pml"
later expect_wrong standstill-one-look "$m/standstill.pml" 's/before\[r\] + LOOKS/before[r] + 1/'
defines=
later expect_right lazy_release "$m/lazy_release.pml"
later expect_wrong lazy_release-epoch-before-flush "$m/lazy_release.pml" 's/^     (in_flight == 0);.*$//'
later expect_wrong lazy_release-ticket-of-this-epoch "$m/lazy_release.pml" 's/(dirty -> epoch + 1 : 0)/(dirty -> epoch : 0)/'
later expect_wrong lazy_release-nobody-asks "$m/lazy_release.pml" 's/asked = true; requests++/asked = true/'
later expect_wrong lazy_release-idle-owner-does-not-poll "$m/lazy_release.pml" 's/^  :: bell -> serve()$//'
later expect_right neighbours "$m/neighbours.pml"
defines=-DMOVES=3
! in_soak || later expect_right neighbours-three-moves "$m/neighbours.pml"
defines=
later expect_wrong neighbours-time-behind-the-get "$m/neighbours.pml" 's/^  t = clock;$//;s/^  data\[me\] = home;$/  data[me] = home; t = clock;/'
later expect_wrong neighbours-no-time-behind-a-change "$m/neighbours.pml" 's/^     step(me)$/     skip/'
later expect_wrong neighbours-time-before-the-put "$m/neighbours.pml" 's/^     home = data\[me\];$/     step(me);/;s/^     step(me)$/     home = data[me]/'
later expect_wrong neighbours-acquires-in-the-same-time "$m/neighbours.pml" 's/^     step(me);$/     from[me] = clock;/'
later expect_wrong neighbours-inherits-nothing "$m/neighbours.pml" 's/^     later(gen\[me\], t);$//'
later expect_wrong neighbours-copies-what-is-old "$m/neighbours.pml" 's/t != 0 \&\& t >= from\[me\]/t != 0/'
later expect_wrong neighbours-copies-without-a-version "$m/neighbours.pml" 's/:: version\[other\] == v ->/:: true ->/'
later expect_wrong neighbours-fetches-over-what-is-shown "$m/neighbours.pml" 's/^  hide(me);$//'
later expect_wrong neighbours-shows-a-copy-as-new "$m/neighbours.pml" 's/^        since\[me\] = t;$/        since[me] = clock;/;s/^        shown\[me\] = t$/        shown[me] = clock/'
later expect_right read_ahead "$m/read_ahead.pml"
later expect_wrong read_ahead-hits-what-is-on-its-way "$m/read_ahead.pml" 's/block == b \&\& !fetching \&\& !storing \&\& !older/block == b \&\& !storing \&\& !older/'
later expect_wrong read_ahead-waits-for-its-own-fetch-alone "$m/read_ahead.pml" 's/:: fetching \&\& (wanted \& coming) != 0 -> awaited = true/:: false/'
later expect_wrong read_ahead-writes-under-what-is-on-its-way "$m/read_ahead.pml" 's/:: fetching \&\& (wanted/:: h != write \&\& fetching \&\& (wanted/'
later expect_wrong read_ahead-forgets-what-came-before "$m/read_ahead.pml" 's/coming = (fetching -> coming : 0) | (gap)/coming = gap/'
later expect_wrong read_ahead-fetches-under-old-bytes "$m/read_ahead.pml" 's/:: fetching -> land()  .\* old bytes.*$/:: false/'
later expect_wrong read_ahead-fetches-ahead-under-old-bytes "$m/read_ahead.pml" 's/older \&\& (how != none || fetching)/older \&\& how != none/'
later expect_wrong read_ahead-fetches-ahead-before-its-put "$m/read_ahead.pml" 's/:: block == b \&\& storing$/:: false/'
later expect_wrong read_ahead-fetches-before-its-put "$m/read_ahead.pml" '/^inline checkout_slowly/,/^}/s/^  settle();$//'
later expect_wrong read_ahead-gives-away-what-is-on-its-way "$m/read_ahead.pml" 's/ \&\& !fetching \&\& !storing)$/ \&\& !storing)/'
later expect_wrong read_ahead-gives-away-what-goes-home "$m/read_ahead.pml" 's/ \&\& !fetching \&\& !storing)$/ \&\& !fetching)/'
later expect_wrong read_ahead-keeps-what-is-old "$m/read_ahead.pml" 's/^  valid = dirty;$//'
later expect_wrong read_ahead-hits-what-is-old "$m/read_ahead.pml" 's/ \&\& !older \&\& WITHOUT/ \&\& WITHOUT/'
later expect_wrong read_ahead-fetches-over-what-is-dirty "$m/read_ahead.pml" 's/get(WITHOUT(sub, valid))/get(sub)/'
later expect_wrong read_ahead-updates-under-what-is-on-its-way "$m/read_ahead.pml" 's/:: fetching -> land()  .\* it would land.*$/:: false/'
later expect_wrong read_ahead-copies-what-is-on-its-way "$m/read_ahead.pml" 's/:: block == b \&\& (fetching || storing) -> land()/:: false/'
later expect_wrong read_ahead-waits-for-nothing "$m/read_ahead.pml" '/^inline finish/,/^}/s/:: fetching -> land()/:: false/'
later expect_right letters "$m/letters.pml"
later expect_wrong letters-no-second-ring "$m/letters.pml" 's/:: drawn\[me\] != executed\[me\] -> bell\[me\] = true/:: false -> skip/'
later expect_wrong letters-bell-lowered-behind-the-look "$m/letters.pml" 's/^  bell\[me\] = false;$//;s/^  :: drawn\[me\] != executed/  :: true -> bell[me] = false\n  :: drawn[me] != executed/'
later expect_wrong letters-came-before-the-text "$m/letters.pml" 's/^  head\[PLACE(TO(me, i), ticket\[mine\])\] = mine + 1;$/  flying[mine] = ticket[mine] + 1; head[PLACE(TO(me, i), ticket[mine])] = mine + 1;/'
later expect_wrong letters-place-too-early "$m/letters.pml" 's/< executed\[TO(me, 0)\] + PLACES/<= executed[TO(me, 0)] + PLACES/'
later expect_wrong letters-sender-serves-nobody "$m/letters.pml" '0,/:: bell\[me\] -> serve(me)/s/:: bell\[me\] -> serve(me)/:: !waits[0] \&\& !waits[1] \&\& bell[me] -> serve(me)/'
later expect_right announced "$m/announced.pml"
later expect_wrong announced-before-the-put "$m/announced.pml" 's/:: atomic { first_there\[i\] \&\& second_there\[i\] \&\& !told/:: atomic { !told/;s/:: told\[i\] -> break/:: told[i] \&\& first_there[i] \&\& second_there[i] -> break/'
later expect_wrong announced-takes-one-alone "$m/announced.pml" 's/atomic { answering\[served\] = 1; served++ }/atomic { answering[served] = 1; served++ }; break/'
later expect_wrong announced-writes-before-the-reply "$m/announced.pml" 's/asked - answered < SLOTS/asked - answered <= SLOTS/'
later expect_right growing_heap "$m/growing_heap.pml"
later expect_wrong growing_heap-counts-before-the-row "$m/growing_heap.pml" 's/^       count = i + 1;.*$//;s/^       place\[i\] = 1;.*$/       count = i + 1; place[i] = 1;/'
later expect_wrong growing_heap-names-before-the-count "$m/growing_heap.pml" 's/^       count = i + 1;.*$//;s/^       told\[1\]!i;$/       told[1]!i; count = i + 1;/'
later expect_wrong growing_heap-registers-last "$m/growing_heap.pml" 's/^       registered\[i\] = 1;.*$//;s/^       i++$/       registered[i] = 1; i++/'
later expect_wrong growing_heap-rows-and-count-in-one-get "$m/growing_heap.pml" 's/^            n = count;.*$/            byte last = key[PARTS - 1]; n = count; assert(n < PARTS || last);/'
later expect_right pause "$m/pause.pml"
later expect_wrong pause-awakens-nobody "$m/pause.pml" 's/^            awaken(waiting\[me\])$/            skip/'
later expect_wrong pause-forgets-who-came-behind-the-inner-root "$m/pause.pml" 's/^            awaken(waiting\[me\]);  .*$//'
later expect_wrong pause-refuses-who-comes-behind-the-inner-root "$m/pause.pml" 's/assert(t != ROOT \&\& by != ROOT)/assert(t != ROOT \&\& by != ROOT \&\& by != INNER)/'
later expect_wrong pause-taken-by-a-store "$m/pause.pml" 's/:: taken == seen -> taken = epoch/:: true -> taken = epoch/'
later expect_wrong pause-that-nobody-meets-in "$m/pause.pml" 's/^            barrier();.*$//'
later expect_wrong pause-in-the-same-epoch "$m/pause.pml" 's/^            epoch++;$//'
defines=-DTASKS=3
! in_soak || later expect_right pause-of-three-tasks "$m/pause.pml"
defines=
wait
for said in "$work"/*.said; do
  cat "$said"
  grep -qE '^(not )?ok - ' "$said" || not_ok "a model's check ended without a word"
done
finish
