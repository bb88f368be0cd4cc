/* SPDX-License-Identifier: Apache-2.0 */
/* When nothing can run any more (libcore/task/standstill.hpp): workers that steal from each other, tasks that wait at one
 * worker until another completes a record, and rank 0's three rounds.
 *
 * Work is a number of units that a worker has; a unit may make another one. A worker with work gives a unit away when a thief claims it: the claim and its count are
 * one step at the victim (they are one compare-and-swap), the thief learns of it in a later one. A worker without work may become
 * still, in steps: given, then state. A still worker is a thief too; it leaves stillness before it counts what it took.
 * A unit that ends may complete a record that a task of the other worker waits for; that worker sees it at its next look. A still
 * worker counts each look that found nothing, in a later step. The rounds read the words of a worker one at a time, in either order.
 *
 * A unit may also be sent (libcore/deque/arrivals.hpp): it lies at the other worker at once, and the sender counts it in a later step,
 * as given. A worker takes what lies there, and counts it as received.
 *
 * Steals and looks are explored apart (tests/models/run.sh): together they are too many states.
 *
 * Proved: when the rounds agree, nobody has work, none is on its way, and no task can go on.
 */
#ifndef WORKERS
#define WORKERS 2
#endif
#define UNITS 2      /* that are made in all */
#ifndef CLAIMS
#define CLAIMS 1     /* from one worker: what bounds the run */
#endif
#ifndef COMPLETIONS
#define COMPLETIONS 1
#endif
#ifndef SENDS
#define SENDS 0
#endif
#ifndef LOOKS
#define LOOKS 2      /* that the third round asks for */
#endif

byte work[WORKERS];
byte claims[WORKERS];        /* what thieves took from this worker: part of the word that they claim by */
byte given[WORKERS];         /* the same, as the worker tells it when it becomes still */
byte received[WORKERS];
byte state[WORKERS] = 1;     /* even: still */
byte inbox[WORKERS];         /* units that were sent here */
byte sends;                  /* of them, in all */
byte ready[WORKERS];         /* records that are done, and whose tasks wait at this worker */
byte completed;              /* of them, in all */
byte passes[WORKERS];
bool looked[WORKERS];        /* ghost of a pass that is under way: it found nothing */
byte flying;                 /* ghost: claimed, and not yet at the thief */
byte made = 1, spent;        /* units */
bool fired;

inline victim_of(me, v) {
  if
  :: me == 0 -> v = WORKERS - 1
  :: else -> v = me - 1
  fi
}

proctype worker(byte me) {
  byte v;
  bool got;
  do
  :: fired || spent == made -> break
  /* a unit makes another one, or ends */
  :: work[me] > 0 && made < UNITS -> atomic { work[me]++; made++ }
  :: work[me] > 0 -> atomic { work[me]--; spent++ }
  /* ends, and completes a record that a task of the other worker waits for: the unit goes on there */
  :: work[me] > 0 && completed < COMPLETIONS -> atomic { victim_of(me, v); work[me]--; ready[v]++; completed++; v = 0 }
  /* idle: looks at its waiting tasks. One can go on */
  :: work[me] == 0 && ready[me] > 0 ->
       looked[me] = 0;
       if
       :: state[me] % 2 == 0 -> state[me]++
       :: else -> skip
       fi;
       atomic { ready[me]--; work[me]++ }
#if LOOKS
  /* none can: the look, and later its count */
  :: work[me] == 0 && state[me] % 2 == 0 && ready[me] == 0 && !looked[me] && passes[me] < LOOKS + 1 -> looked[me] = 1
  :: looked[me] -> atomic { looked[me] = 0; passes[me]++ }
#endif
#if SENDS
  /* sends a unit */
  :: work[me] > 0 && sends < SENDS ->
       atomic { victim_of(me, v); work[me]--; inbox[v]++; sends++; v = 0 };
       claims[me]++
  /* takes one, at work or idle */
  :: inbox[me] > 0 ->
       atomic { inbox[me]--; flying++ };
       if
       :: state[me] % 2 == 0 -> state[me]++
       :: else -> skip
       fi;
       received[me]++;
       atomic { flying--; work[me]++ }
#endif
  /* idle: becomes still */
  :: work[me] == 0 && state[me] % 2 == 1 && state[me] < 4 ->
       given[me] = claims[me];
       state[me]++
  /* idle: steals */
  :: work[me] == 0 ->
       atomic {
         victim_of(me, v);
         if
         :: work[v] > 0 && claims[v] < CLAIMS -> work[v]--; claims[v]++; flying++; got = 1
         :: else -> skip
         fi;
         v = 0
       };
       if
       :: got ->
            if
            :: state[me] % 2 == 0 -> state[me]++
            :: else -> skip
            fi;
            received[me]++;
            atomic { flying--; work[me]++; got = 0 }
       :: else -> skip
       fi
  od
}

byte sum1, sum2, sum3, diff1, diff2, diff3;
byte before[WORKERS];        /* passes, as the second round has read them */

inline read_all(sum, diff, ok) {
  sum = 0; diff = 0; ok = 1; r = 0;
  do
  :: r < WORKERS ->
       if
       :: atomic { if :: state[r] % 2 == 1 -> ok = 0; break :: else -> sum = sum + state[r] fi };
          atomic { sum = sum + given[r]; diff = diff + given[r] };
          atomic { sum = sum + received[r]; diff = diff - received[r] }
       :: atomic { sum = sum + received[r]; diff = diff - received[r] };
          atomic { sum = sum + given[r]; diff = diff + given[r] };
          atomic { if :: state[r] % 2 == 1 -> ok = 0; break :: else -> sum = sum + state[r] fi }
       fi;
       r++
  :: else -> break
  od;
  r = 0      /* fewer states */
}

proctype watcher() {
  byte r, i;
  bool ok;
  do
  :: fired -> break
  :: else ->
       read_all(sum1, diff1, ok);
       if
       :: ok ->
            read_all(sum2, diff2, ok);
            if
            :: ok && sum1 == sum2 && diff2 == 0 ->
#if LOOKS
                 do
                 :: r < WORKERS -> before[r] = passes[r]; r++
                 :: else -> break
                 od;
                 r = 0;
                 read_all(sum3, diff3, ok);
                 do
                 :: r < WORKERS ->
                      if
                      :: passes[r] < before[r] + LOOKS -> ok = 0
                      :: else -> skip
                      fi;
                      r++
                 :: else -> break
                 od;
                 r = 0;
#else
                 sum3 = sum2;
#endif
                 if
                 :: ok && sum2 == sum3 && diff3 == 0 ->
                      atomic {
                        fired = 1;
                        assert(flying == 0);
                        i = 0;
                        do
                        :: i < WORKERS -> assert(work[i] == 0 && ready[i] == 0 && inbox[i] == 0); i++
                        :: else -> break
                        od
                      }
                 :: else -> skip
                 fi
            :: else -> skip
            fi
       :: else -> skip
       fi;
       atomic { sum1 = 0; sum2 = 0; sum3 = 0; diff1 = 0; diff2 = 0; diff3 = 0; ok = 0; i = 0; before[0] = 0; before[1] = 0 }
  od
}

init {
  atomic {
    work[0] = 1;
    byte i = 0;
    do
    :: i < WORKERS -> run worker(i); i++
    :: else -> break
    od;
    run watcher()
  }
}
