/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of a task collection (libcore/pool/queue.hpp, Q1 to Q3): an owner that adds TASKS tasks to a ring of CAPACITY places, shares
 * them, takes them back and executes them, and THIEVES that claim and copy. Each load of the owner's is a step of its own.
 *
 * Tasks have numbers. Counts (head, split, base) run on, and name places modulo the capacity. The shared word is `claims`, `count` and
 * `base`, changed as one. With at most two tasks shared each claim takes one (shared_part.hpp: half of what is left, rounded up).
 *
 * Proved: every task is executed exactly once, and a thief copies the task that it has claimed: its place was not written again.
 */
#ifndef THIEVES
#define THIEVES 2
#endif
#ifndef TASKS
#define TASKS 5
#endif
#define CAPACITY 2
#define NONE 255

byte place[CAPACITY] = NONE;
byte claims, count, base;    /* the shared word; base: the whole count of which the word has the place */
byte copied;
byte executed[TASKS];
byte done;                   /* tasks executed */

#define CLAIMED(k, n) (k < n -> k : n)
#define LEFT (count - CLAIMED(claims, count))
#define execute(t) atomic { assert(t != NONE); executed[t]++; assert(executed[t] == 1); done++ }

active proctype owner() {
  byte made, head, split, reused, seen, k, n, tail, wanted;

again:
  do
  /* add(): room first (Q2), then the task, then what is shared */
  :: made < TASKS && head - reused < CAPACITY ->
       atomic { place[head % CAPACITY] = made; made++; head++ }
  :: made < TASKS && head - reused == CAPACITY ->
       seen = copied;                        /* has_room: what is copied */
       tail = base + CLAIMED(claims, count); /* has_room: what is claimed */
       if
       :: seen == tail -> reused = seen
       :: else -> skip
       fi;
       seen = 0; tail = 0
  /* share(), or take_back(): move_split up to the head, or down by one (Q1) */
  :: head > split -> wanted = head; goto move
  :: head == split && LEFT > 0 -> wanted = split - 1; goto move
  /* take(): the newest private one */
  :: head > split ->
       atomic { head--; seen = place[head % CAPACITY] };
       execute(seen); seen = 0
  :: done == TASKS -> break
  od;
  goto over;

move:
  atomic { k = claims; n = count };
  tail = base + CLAIMED(k, n);
  if
  :: tail > wanted -> wanted = tail
  :: else -> skip
  fi;
  atomic {                                   /* the compare-and-swap */
    if
    :: claims == k && count == n -> claims = 0; count = wanted - tail; base = tail
    :: else -> goto move
    fi
  };
  split = wanted;
  atomic { k = 0; n = 0; tail = 0; wanted = 0 };
  assert(split <= head);
  goto again;
over: skip
}

active [THIEVES] proctype thief() {
  byte at = NONE, task;
  do
  :: LEFT > 0 || at != NONE ->
       atomic {                              /* the claim */
         if
         :: claims < count -> at = base + claims; claims++
         :: else -> claims++
         fi
       };
       if
       :: at != NONE ->
            task = place[at % CAPACITY];     /* the copy */
            copied++;                        /* tell_copied, behind it */
            execute(task);
            at = NONE; task = 0
       :: else -> skip
       fi
  :: done == TASKS -> break
  od
}
