/* SPDX-License-Identifier: Apache-2.0 */
/* A run that pauses (libcore/job/pause.hpp): its tasks want something that all workers do together. Each part of the run is an epoch,
 * which one task ends, by a compare-and-swap at rank 0, and then a notice to all; the root ends the last one. A task that comes second
 * waits where it is, and asks again in the next epoch. Ready tasks run on any worker: they may have been stolen.
 *
 * A worker looks at its notice where it has no task, and may run tasks when it has been told already. In the pause of task 0 all
 * workers run another root, INNER, and go on with ready tasks of the run around it meanwhile. These may want a pause at the moment
 * when INNER ends: which of the two comes second waits.
 *
 * Proved: every task gets its pause, one at a time; all workers make the same one, in the same epoch; the root takes an epoch that no
 * task wants. A task that nobody awakens, or workers that wait for each other, are an invalid end.
 */
#define WORKERS 3
#ifndef TASKS
#define TASKS 2
#endif
#define INNER TASKS
#define ROOT (TASKS + 1)
#define NOBODY (TASKS + 2)
#define BIT(t) (1 << (t))

byte taken;                    /* at rank 0: the epoch that was taken last, and by whom */
byte taker = NOBODY;
byte told[WORKERS];            /* the notice: an epoch, and whose pause it is */
byte whose[WORKERS];
byte ready = BIT(TASKS) - 1;   /* tasks, of which any worker takes one */
byte waiting[WORKERS];         /* tasks that came second, by the worker where they asked */
byte made;                     /* pauses that are over, as the workers that asked for them count */
byte agreed[2 * TASKS + 4];    /* whose pause each epoch ends with, of those that have come to it */
byte came;                     /* to barriers, in all */

inline barrier() {
  came++;
  barriers++;
  (came >= WORKERS * barriers)
}

/* In a task, or at a root's end: the look, the compare-and-swap, and what both say. */
inline ask() {
  atomic { seen = taken; by = taker };
  own = false;
  if
  :: seen != epoch ->
       atomic {
         if
         :: taken == seen -> taken = epoch; taker = t; own = true
         :: else -> by = taker; assert(taken == epoch)
         fi
       }
  :: else
  fi;
  if
  :: own -> asked_here = t; whose[me] = t; told[me] = epoch
  :: else -> assert(t != ROOT && by != ROOT); waiting[me] = waiting[me] | BIT(t)
  fi
}

/* Those that wait here are ready: THEM is a list of this worker. */
inline awaken(them) {
  atomic { ready = ready | them; them = 0 }
}

inline tell_all() {
  v = 0;
  do
  :: v < WORKERS -> if :: v != me -> whose[v] = pause; told[v] = epoch :: else fi; v++
  :: else -> break
  od
}

proctype worker(byte me) {
  byte epoch = 1, barriers, seen, by, t, asked_here = NOBODY, v, pause;
  byte outer_list;             /* in the pause of task 0: who waits for its end */
  bool own, inner, asked_for_inner;
  do
  :: atomic { ready != 0 ->
       if
       :: ready & BIT(0) -> t = 0
       :: ready & BIT(1) -> t = 1
       :: ready & BIT(2) -> t = 2
       :: ready & BIT(3) -> t = 3
       fi;
       ready = ready & ~BIT(t) }
     ask()
  :: atomic { made == TASKS && me == 0 && !inner && taken != epoch -> t = ROOT }
     ask()
  :: told[me] == epoch ->
       pause = whose[me];
       if
       :: pause == asked_here -> tell_all()
       :: else
       fi;
       atomic { assert(agreed[epoch] == 0 || agreed[epoch] == pause + 1); agreed[epoch] = pause + 1 };
       if
       :: pause == ROOT -> break
       :: pause == INNER ->
            barrier();                                        /* of the end of a run */
            if :: asked_here == INNER -> asked_here = NOBODY :: else fi;
            awaken(waiting[me]);                              /* what came behind the inner root */
            inner = false;
            barrier();                                        /* of the end of task 0's pause */
            epoch++;
            if :: asked_for_inner -> asked_for_inner = false; made++ :: else fi;
            awaken(outer_list)
       :: pause == 0 ->
            barrier();
            atomic { outer_list = waiting[me]; waiting[me] = 0 };
            if :: asked_here == 0 -> asked_for_inner = true; asked_here = NOBODY :: else fi;
            inner = true;
            epoch++;
            if :: me == 0 -> ready = ready | BIT(INNER) :: else fi
       :: else ->
            barrier();
            barrier();
            epoch++;
            if :: pause == asked_here -> atomic { asked_here = NOBODY; made++ } :: else fi;
            awaken(waiting[me])
       fi
  od;
  assert(made == TASKS && ready == 0 && waiting[me] == 0 && outer_list == 0 && !inner && epoch == TASKS + 2)
}

init {
  atomic { run worker(0); run worker(1); run worker(2) }
}
