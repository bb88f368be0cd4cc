/* The greedy join on one word (libcore/task/record.hpp): a child, and JOINERS tasks that wait for it (a future has several).
 *
 * The word goes 0 -> list of waiters -> DONE, which is a bit beside them. The child writes the value, then adds the bit; what it finds
 * are the waiters. Each joiner saves itself, links the waiters that it saw behind itself, and swaps its own name in, unless the bit is
 * there. All remote operations of one process are steps of their own.
 *
 * Proved: every joiner goes on exactly once, after the value was written; the record is freed once, after the last read.
 */
#ifndef JOINERS
#define JOINERS 3
#endif
#define DONE 128

byte word;                     /* 0 or a waiter's number (1..JOINERS), and the bit DONE */
byte next[JOINERS + 1];        /* the list, through the saved contexts */
bool saved[JOINERS + 1];       /* the context has been evacuated */
byte resumed[JOINERS + 1];     /* how often somebody let it go on */
bool value;                    /* the result is written */
byte consumers = JOINERS;
bool freed;

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

active proctype child() {
  byte old, w, after;
  value = 1;
  assert(!freed);
  atomic { old = word; word = word + DONE };
  assert(old < DONE);
  /* the waiters are this worker's now: it resumes them, one after the other */
  w = old;
  do
  :: w != 0 ->
       assert(w <= JOINERS && saved[w]);
       after = next[w];
       resumed[w]++;
       w = after
  :: else -> break
  od
}

proctype joiner(byte me) {
  byte seen;
  /* a look first: done already? */
  if
  :: word >= DONE -> goto go_on
  :: else -> skip
  fi;
  /* save, then enlist */
  saved[me] = 1;
  seen = 0;
  do
  :: next[me] = seen;
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
