/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a task collection's process() (pool/termination.hpp): waves of tokens over a tree, while tasks are executed, added and
 * stolen. Rank 0 is the root, and ranks 1 and 2 are its children.
 *
 * A claim takes a task and counts, in one atomic operation at the victim; the stolen task is in nobody's queue until the thief has it.
 * A token and what comes down are words that arrive some time after they were put; here they arrive at once or the reader looks late,
 * which is the same, because each has one writer and is read only by its number.
 *
 * Proved: a rank that leaves finds no task anywhere, neither queued, nor executed, nor on its way. That all leave is the absence of invalid
 * ends.
 */
#ifndef TASKS
#define TASKS 2
#endif
#ifndef CHILDREN
#define CHILDREN 1           /* tasks that tasks add, in all */
#endif
#ifndef CLAIMS
#define CLAIMS 3             /* in all: without a bound tasks may wander for ever */
#endif
#define RANKS 3

byte queued[RANKS];
bit running[RANKS];          /* a task is executed, or on its way to here */
byte claimed[RANKS];         /* by thieves, in all */
byte up[RANKS];              /* of a rank, at its parent: 2 * wave + void */
byte down[RANKS];            /* from its parent: 2 * wave + over */
byte to_add = CHILDREN;
byte to_claim = CLAIMS;

#define NONE_LEFT (queued[0] + queued[1] + queued[2] + running[0] + running[1] + running[2] == 0)
#define HAS_TOKEN(c) (c >= RANKS || up[c] / 2 == wave)
#define IS_VOID(c) (c < RANKS && up[c] % 2 == 1)

inline claim(v) {
  atomic { v != me && to_claim > 0 && queued[v] > 0 -> to_claim--; queued[v]--; claimed[v]++; running[me] = 1 };
  atomic { queued[me]++; running[me] = 0 }
}

inline tell_children(word) {
  if :: 2 * me + 1 < RANKS -> down[2 * me + 1] = word :: else fi;
  if :: 2 * me + 2 < RANKS -> down[2 * me + 2] = word :: else fi
}

proctype rank(byte me) {
  byte wave = 1, counted = 0, word;
  bit sent = 0, over = 0, void_ = 0;
  do
  :: over -> break
  :: !over && queued[me] > 0 ->
       if
       :: atomic { queued[me] > 0 -> queued[me]--; running[me] = 1 };
            if
            :: atomic { to_add > 0 -> to_add--; queued[me]++ }
            :: skip
            fi;
            running[me] = 0
       :: queued[me] == 0 -> skip             /* thieves were faster */
       fi
  :: !over && queued[me] == 0 ->
       if
       :: claim(0)
       :: claim(1)
       :: claim(2)
       :: !sent && HAS_TOKEN(2 * me + 1) && HAS_TOKEN(2 * me + 2) ->
            void_ = (claimed[me] != counted) || IS_VOID(2 * me + 1) || IS_VOID(2 * me + 2);
            counted = claimed[me];
            if
            :: me == 0 -> wave++; over = !void_; word = 2 * wave + over; tell_children(word)
            :: else -> sent = 1; up[me] = 2 * wave + void_
            fi
       :: sent && down[me] / 2 > wave ->
            word = down[me]; wave++; sent = 0; tell_children(word); over = word % 2
       fi
  od;
  assert(NONE_LEFT)
}

init {
  atomic {
    queued[1] = TASKS;
    run rank(0); run rank(1); run rank(2)
  }
}
