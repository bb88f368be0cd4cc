/* SPDX-License-Identifier: Apache-2.0 */
/* A run that pauses (libcore/job/pause.hpp): its tasks want something that all workers do together. Each part of the run is an epoch,
 * which one task ends, by a compare-and-swap at rank 0, and then a notice to all; the root ends the last one. A task that comes second
 * waits where it is, and asks again in the next epoch. Ready tasks run on any worker: they may have been stolen.
 *
 * A worker looks at its notice where it has no task, and may run tasks when it has been told already.
 *
 * Proved: every task gets its pause, one at a time; all workers make the same one, in the same epoch; the root takes an epoch that no
 * task wants. A task that nobody awakens, or workers that wait for each other, are an invalid end.
 */
#define WORKERS 3
#define TASKS 3
#define ROOT TASKS
#define BIT(t) (1 << (t))

byte taken;                    /* at rank 0: the epoch that was taken last */
byte told[WORKERS];            /* the notice: an epoch, and whose pause it is */
byte whose[WORKERS];
byte ready = BIT(TASKS) - 1;   /* tasks, of which any worker takes one */
byte waiting[WORKERS];         /* tasks that want a pause behind the one that comes, by the worker where they asked */
byte made;                     /* pauses that are over, as the workers that asked for them count */
byte agreed[TASKS + 2];        /* whose pause each epoch ends with, of those that have come to it */
byte came;                     /* to barriers, in all */

inline barrier() {
  came++;
  barriers++;
  (came >= WORKERS * barriers)
}

/* In a task, or at the root's end: the look, the compare-and-swap, and what both say. */
inline ask() {
  seen = taken;
  own = false;
  if
  :: seen != epoch ->
       atomic {
         if
         :: taken == seen -> taken = epoch; own = true
         :: else -> seen = taken; assert(seen == epoch)
         fi
       }
  :: else
  fi;
  if
  :: own -> asked_here = t; whose[me] = t; told[me] = epoch
  :: else -> assert(t != ROOT); waiting[me] = waiting[me] | BIT(t)
  fi
}

proctype worker(byte me) {
  byte epoch = 1, barriers, seen, t, asked_here = TASKS + 1, v, pause;
  bool own;
  do
  :: atomic { ready != 0 ->
       if
       :: ready & BIT(0) -> t = 0
       :: ready & BIT(1) -> t = 1
       :: ready & BIT(2) -> t = 2
       fi;
       ready = ready & ~BIT(t) }
     ask()
  :: atomic { made == TASKS && me == 0 && taken != epoch -> t = ROOT }
     ask()
  :: told[me] == epoch ->
       pause = whose[me];
       if
       :: pause == asked_here ->
            v = 0;
            do
            :: v < WORKERS -> if :: v != me -> whose[v] = pause; told[v] = epoch :: else fi; v++
            :: else -> break
            od
       :: else
       fi;
       atomic { assert(agreed[epoch] == 0 || agreed[epoch] == pause + 1); agreed[epoch] = pause + 1 };
       barrier();
       if
       :: pause == ROOT -> break
       :: else
       fi;
       barrier();
       epoch++;
       if
       :: pause == asked_here -> atomic { asked_here = TASKS + 1; made++ }
       :: else
       fi;
       atomic { ready = ready | waiting[me]; waiting[me] = 0 }
  od;
  assert(made == TASKS && ready == 0 && waiting[me] == 0 && epoch == TASKS + 1)
}

init {
  atomic { run worker(0); run worker(1); run worker(2) }
}
