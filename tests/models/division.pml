/* SPDX-License-Identifier: Apache-2.0 */
/* Parts that are dealt to ranges of workers (TOBI_SCHED=adws: libcore/sched/divisions.hpp, libcore/include/tobi/detail/divide.hpp).
 * WORKERS workers, and a part for each. Who has parts [lo, hi) forks a child for the second half, which goes to the worker where that
 * begins, and keeps the first half. A worker that has nothing takes what was sent to it; else of its group; and of others when it has
 * waited long enough (open). Some workers stall: they compute something else for good, and their attendants show what was sent to them.
 *
 * A fork may show the parent's entry to thieves, unless it was told that the child leaves at once. Group: workers 2g and 2g + 1.
 *
 * Proved: each part is executed once, whoever stalls, and nobody waits for a part that nobody may take. Where nobody stalls, each part
 * is executed by its own worker.
 */
#ifndef WORKERS
#define WORKERS 4
#endif
#ifndef STALLS
#define STALLS 2
#endif
#define NONE 0
#define PRIVATE 1
#define SHOWN 2
#define IMAGE(lo, hi) ((lo) * 16 + (hi))
#define LO(image) ((image) / 16)
#define HI(image) ((image) % 16)
#define OVER (executed == WORKERS)

byte sent[WORKERS];    /* the word that others put an image into */
byte ready[WORKERS];   /* what thieves may take */
byte entry[WORKERS];   /* of the parent of a child that is about to leave */
byte first[WORKERS];   /* its parts */
byte last[WORKERS];
bool stalled[WORKERS];
bool open[WORKERS];
byte stalls = STALLS;
byte times[WORKERS];
byte executed;

#define NEAR(w, v) ((w) / 2 == (v) / 2)
#define MAY(w, v) (NEAR(w, v) || open[w])

inline execute(from, to) {
  part = from;
  do
  :: part < to ->
       d_step {
         assert(times[part] == 0);
         assert(part == w || stalls < STALLS);
         times[part]++; executed++; part++
       }
  :: else -> break
  od
}
inline steal(v) {
  if
  :: atomic { ready[v] != NONE -> lo = LO(ready[v]); hi = HI(ready[v]); ready[v] = NONE }
  :: atomic { entry[v] == SHOWN -> lo = first[v]; hi = last[v]; entry[v] = NONE }
  fi
}
#define STEALS(v) atomic { hi == lo && w != v && MAY(w, v) && sent[w] == NONE && (ready[v] != NONE || entry[v] == SHOWN) -> steal(v) }

proctype worker(byte w) {
  byte lo, hi, middle, part;
  if
  :: w == 0 -> hi = WORKERS
  :: else -> skip
  fi;
  do
  /* it has [lo, hi) */
  :: hi - lo > 1 ->
       middle = lo + (hi - lo) / 2;
       /* the fork: an entry that is shown can be stolen until the child leaves, and pops it */
       atomic { first[w] = lo; last[w] = middle; entry[w] = PRIVATE };
       if
       :: middle == w -> if :: entry[w] = SHOWN :: skip fi
       :: middle != w -> skip  /* it was told that the child leaves */
       fi;
       if
       :: middle == w -> execute(middle, hi)
       :: middle != w -> atomic { sent[middle] == NONE -> sent[middle] = IMAGE(middle, hi) }
       fi;
       atomic {
         if
         :: entry[w] == NONE -> hi = lo
         :: else -> entry[w] = NONE; hi = middle
         fi
       }
  :: hi - lo == 1 -> execute(lo, hi); hi = lo
  /* it has nothing */
  :: hi == lo && OVER -> break
  :: hi == lo && sent[w] != NONE -> atomic { lo = LO(sent[w]); hi = HI(sent[w]); sent[w] = NONE }
  :: STEALS(0)
  :: STEALS(1)
  :: STEALS(2)
  :: STEALS(3)
  :: hi == lo && !open[w] -> open[w] = true  /* it has waited long enough */
  :: atomic { hi == lo && sent[w] == NONE && stalls > 0 -> stalls--; stalled[w] = true }; break
  od;
  /* stalled: its attendant shows what is sent here */
  do
  :: OVER -> break
  :: atomic { !OVER && sent[w] != NONE && ready[w] == NONE -> ready[w] = sent[w]; sent[w] = NONE }
  od
}

init {
  atomic {
    byte i = 0;
    do
    :: i < WORKERS -> run worker(i); i++
    :: else -> break
    od
  }
}
