/* SPDX-License-Identifier: Apache-2.0 */
/* Updates by letters (libcore/pgas/letters.hpp).
 *
 * Each worker has letters for all others, and draws all tickets before it delivers one. The fabric delivers
 * the puts of `came` and of the bell late, and in any order. What is checked: a letter is whole when it is executed, each
 * is executed once, and nobody waits for ever (no invalid end state).
 */
#ifndef PLACES
#define PLACES 1
#endif
#define WORKERS 3
#define EACH (WORKERS - 1)          /* letters of a worker, one to each of the others */
#define TO(w, i) ((w + 1 + i) % WORKERS)
#define PLACE(w, t) (w * PLACES + t % PLACES)
#define LETTER(w, i) (w * EACH + i)

byte drawn[WORKERS];
byte executed[WORKERS];
byte came[WORKERS * PLACES];
byte head[WORKERS * PLACES];        /* a letter has two halves: its number, + 1 */
byte tail[WORKERS * PLACES];
bool bell[WORKERS];
byte flying[WORKERS * EACH];        /* a put of `came` on its way: T + 1; 0: none */
bool rings[WORKERS * EACH];         /* a put of the bell */
byte ticket[WORKERS * EACH];
bool receipt[WORKERS * EACH];
byte times[WORKERS * EACH];         /* it was executed */
byte ended;

inline serve(me) {
  bell[me] = false;
  do
  :: came[PLACE(me, executed[me])] == executed[me] + 1 ->
     one = head[PLACE(me, executed[me])];
     d_step {
       assert(one != 0 && one == tail[PLACE(me, executed[me])]);
       times[one - 1]++;
       assert(times[one - 1] == 1);
       executed[me]++;
       receipt[one - 1] = true
     }
  :: else -> break
  od;
  if
  :: drawn[me] != executed[me] -> bell[me] = true
  :: else -> skip
  fi
}

inline deliver(i, mine) {
  head[PLACE(TO(me, i), ticket[mine])] = mine + 1;
  d_step {
    tail[PLACE(TO(me, i), ticket[mine])] = mine + 1;
    flying[mine] = ticket[mine] + 1;
    rings[mine] = true;
    waits[i] = false
  }
}

active [WORKERS] proctype worker() {
  byte me = _pid;
  byte one;
  bool waits[EACH];
  atomic { ticket[LETTER(me, 0)] = drawn[TO(me, 0)]; drawn[TO(me, 0)]++ };
  waits[0] = true;
  atomic { ticket[LETTER(me, 1)] = drawn[TO(me, 1)]; drawn[TO(me, 1)]++ };
  waits[1] = true;
  do
  :: bell[me] -> serve(me)
  :: waits[0] && ticket[LETTER(me, 0)] < executed[TO(me, 0)] + PLACES -> deliver(0, LETTER(me, 0))
  :: waits[1] && ticket[LETTER(me, 1)] < executed[TO(me, 1)] + PLACES -> deliver(1, LETTER(me, 1))
  :: receipt[LETTER(me, 0)] && receipt[LETTER(me, 1)] -> break
  od;
  ended++;
  do
  :: ended == WORKERS -> break
  :: bell[me] -> serve(me)
  od
}

inline arrives(l) {
  atomic { flying[l] != 0 -> came[PLACE(TO((l / EACH), (l % EACH)), (flying[l] - 1))] = flying[l]; flying[l] = 0 }
}
inline reaches(l) {
  atomic { rings[l] -> bell[TO((l / EACH), (l % EACH))] = true; rings[l] = false }
}

active proctype fabric() {
end:
  do
  :: arrives(0) :: arrives(1) :: arrives(2) :: arrives(3) :: arrives(4) :: arrives(5)
  :: reaches(0) :: reaches(1) :: reaches(2) :: reaches(3) :: reaches(4) :: reaches(5)
  od
}
