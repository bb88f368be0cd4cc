/* SPDX-License-Identifier: Apache-2.0 */
/* Ready tasks shown to thieves (libcore/deque/ready.hpp): WORDS words that each name a list of suspended tasks, an owner that fills them
 * and takes back, THIEVES that take. An image's memory is used again: the same name comes back for another task.
 *
 * A list is a cell, which holds a task's number while its task is suspended, and names up to two more lists (three in the code). A thief
 * looks, and then swaps the name that it saw for 0; only then does it read the cell. It resumes that task, frees its cell, and shows
 * the other lists as its own (here: resumes them later itself, since each thief has words of its own that work alike). The owner's
 * attendant does what the owner does, and never at the same time: to the words the two are one.
 *
 * Proved: every task that became ready is resumed exactly once, by whoever emptied a word, and from a cell that holds it.
 */
#ifndef THIEVES
#define THIEVES 2
#endif
#define WORDS 2
#define TASKS 4
#define CELLS 3
#define NONE 255

byte word[WORDS] = NONE;     /* the first cells of the shown lists */
byte cell[CELLS] = NONE;     /* the task in the cell */
byte left[CELLS] = NONE;
byte next[CELLS] = NONE;
byte resumed[TASKS];
byte made;
byte ended;

#define EMPTY (word[0] == NONE && word[1] == NONE)

/* resumes the tasks of list c, and frees each cell when its task has been copied out; a child list has no more of its own here */
inline run_one(c, t, l, n) {
  t = cell[c];
  d_step { l = left[c]; n = next[c]; assert(t != NONE) };
  d_step { resumed[t]++; assert(resumed[t] == 1); t = 0; cell[c] = NONE; left[c] = NONE; next[c] = NONE }
}
inline run_list(c, t, l, n, u) {
  do
  :: c != NONE ->
       run_one(c, t, l, n);
       if
       :: l != NONE -> c = l; u = n     /* then the other one */
       :: else -> c = n; n = NONE;
            if
            :: c == NONE -> c = u; u = NONE
            :: else -> skip
            fi
       fi
  :: else -> break
  od
}
inline take(w, c, seen) {
  seen = word[w];
  atomic {
    if
    :: seen != NONE && word[w] == seen -> word[w] = NONE; c = seen
    :: else -> skip
    fi;
    seen = 0
  }
}
inline fill(a, k) {
  d_step { cell[k] = made; made++ };
  d_step { assert(word[a] == NONE); word[a] = k }
}

active proctype owner() {
  byte c = NONE, t, l, n, u = NONE, seen;
  do
  /* a task becomes ready: alone, in any empty word, or as the first of a list of three */
  :: made < TASKS ->
       if
       :: word[0] == NONE && cell[0] == NONE -> fill(0, 0)
       :: word[0] == NONE && cell[1] == NONE -> fill(0, 1)
       :: word[1] == NONE && cell[0] == NONE -> fill(1, 0)
       :: word[1] == NONE && cell[2] == NONE -> fill(1, 2)
       :: word[0] == NONE && cell[0] == NONE && cell[1] == NONE && cell[2] == NONE && made + 2 < TASKS ->
            d_step {
              cell[0] = made; made++;
              cell[1] = made; made++;
              cell[2] = made; made++;
              left[0] = 1; next[0] = 2
            };
            d_step { assert(word[0] == NONE); word[0] = 0 }
       :: else -> skip
       fi
  /* idle: takes back what it has shown, if it still can */
  :: word[0] != NONE -> take(0, c, seen); run_list(c, t, l, n, u)
  :: word[1] != NONE -> take(1, c, seen); run_list(c, t, l, n, u)
  :: made == TASKS && EMPTY -> break
  od;
  ended++
}

active [THIEVES] proctype thief() {
  byte c = NONE, t, l, n, u = NONE, seen;
  do
  :: made == TASKS && EMPTY -> break
  :: word[0] != NONE -> take(0, c, seen); run_list(c, t, l, n, u)
  :: word[1] != NONE -> take(1, c, seen); run_list(c, t, l, n, u)
  od;
  ended++
}

/* when all have ended */
active proctype judge() {
  byte i;
  (ended == THIEVES + 1);
  do
  :: i < TASKS -> assert(resumed[i] == 1); i++
  :: else -> break
  od
}
