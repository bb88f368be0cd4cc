/* SPDX-License-Identifier: Apache-2.0 */
/* The greedy join on one word (libcore/task/record.hpp): a child, and JOINERS tasks that wait for it (a future has several).
 *
 * The word goes 0 -> list of waiters -> DONE, which is a bit beside them. The child writes the value, then adds the bit; what it finds
 * are the waiters. Each joiner saves itself, reads how the list begins, becomes the root over its first two trees where they are
 * equal, or a tree of one (waiters.hpp), and swaps its own name in, unless the bit is there. All remote operations of one process
 * are steps of their own, and an image that was resumed holds anything.
 *
 * Proved: every joiner goes on exactly once, after the value was written; the record is freed once, after the last read.
 */
#ifndef JOINERS
#define JOINERS 3
#endif
#define DONE 128
#define TREE 64                /* tag on a list: its first tree alone */
#define JUNK 77
#define MANY 9

byte word;                     /* 0 or a waiter's number (1..JOINERS), and the bit DONE */
byte left[JOINERS + 1];        /* in the saved contexts */
byte right[JOINERS + 1];
byte next[JOINERS + 1];
byte size[JOINERS + 1];
byte next_size[JOINERS + 1];
bool saved[JOINERS + 1];       /* the context has been evacuated */
byte resumed[JOINERS + 1];     /* how often somebody let it go on */
bool value;                    /* the result is written */
byte consumers = JOINERS;
bool freed;
byte lists[MANY];              /* the child's: what it has still to let go on */
byte held;

inline consume() {
  atomic {
    assert(!freed && value);
    consumers--;
    if
    :: consumers == 0 -> freed = 1
    :: else -> skip
    fi
  }
}

inline keep(list) {
  if
  :: list != 0 -> assert(held < MANY); lists[held] = list; held++
  :: else -> skip
  fi
}

active proctype child() {
  byte old, list, w;
  value = 1;
  assert(!freed);
  atomic { old = word; word = word + DONE };
  assert(old < DONE);
  /* the waiters are this worker's now: it resumes the first one of a list and hands on up to three lists */
  d_step {
    keep(old)
  };
  do
  :: held > 0 ->
       d_step {
         held--;
         list = lists[held];
         w = list % TREE;
         assert(w >= 1 && w <= JOINERS && saved[w]);
         if
         :: left[w] != 0 -> keep(left[w] + TREE)
         :: else -> skip
         fi;
         if
         :: right[w] != 0 -> keep(right[w] + TREE)
         :: else -> skip
         fi;
         if
         :: list < TREE -> keep(next[w])
         :: else -> skip
         fi;
         left[w] = JUNK; right[w] = JUNK; next[w] = JUNK; size[w] = 1; next_size[w] = 1;
         saved[w] = 0;
         resumed[w]++
       }
  :: else -> break
  od
}

proctype joiner(byte me) {
  byte seen, second, s, n;
  /* a look first: done already? */
  if
  :: word >= DONE -> goto go_on
  :: else -> skip
  fi;
  /* save, then enlist */
  saved[me] = 1;
  seen = 0;
  do
  :: d_step { left[me] = 0; right[me] = 0; size[me] = 1; next[me] = seen; next_size[me] = 0; second = 0 };
     if
     :: seen != 0 ->
          d_step { s = size[seen]; second = next[seen]; n = next_size[seen] };
          next_size[me] = s;
          if
          :: second >= 1 && second <= JOINERS && s == n ->   /* else it leads nowhere, or there is no such tree */
               d_step {
                 left[me] = seen; right[me] = second; size[me] = 1 + 2 * s;
                 next[me] = next[second]; next_size[me] = next_size[second]
               }
          :: else -> skip
          fi
     :: else -> skip
     fi;
     atomic {
       if
       :: word == seen -> word = me; goto wait
       :: word >= DONE -> saved[me] = 0; goto go_on    /* the child was faster: goes on by itself */
       :: else -> seen = word
       fi
     }
  od;
wait:
  (resumed[me] > 0);
  assert(resumed[me] == 1);
go_on:
  assert(value && !freed);
  assert(resumed[me] <= 1);
  consume()
}

init {
  byte i = 1;
  atomic {
    do
    :: i <= JOINERS -> run joiner(i); i++
    :: else -> break
    od
  };
  /* when all is over: freed once, and nobody is left waiting (an invalid end state would say so) */
  (consumers == 0);
  assert(freed)
}
