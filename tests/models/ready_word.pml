/* Ready tasks shown to thieves (libcore/task/ready.hpp): one word that names a list of suspended tasks, an owner that fills it and
 * takes back, THIEVES that take. An image's memory is used again: the same name comes back for another task.
 *
 * A list is a chain of cells; each cell holds a task's number while its task is suspended. A thief looks, and then swaps the name that
 * it saw for 0; only then does it read the cells. It resumes the first task, frees its cell, and shows the rest as its own (here:
 * resumes it later itself, since each thief has a word of its own that works alike).
 *
 * Proved: every task that became ready is resumed exactly once, by whoever emptied the word, and from a cell that holds it.
 */
#ifndef THIEVES
#define THIEVES 2
#endif
#define TASKS 4
#define CELLS 2
#define NONE 255

byte word = NONE;            /* the first cell of the shown list */
byte cell[CELLS] = NONE;     /* the task in the cell */
byte next[CELLS] = NONE;
byte resumed[TASKS];
byte made;
byte ended;

/* resumes the tasks of a list, first to last, and frees each cell when its task has been copied out */
inline run_list(c, t, n) {
  do
  :: c != NONE ->
       t = cell[c];
       n = next[c];
       assert(t != NONE);
       atomic { resumed[t]++; assert(resumed[t] == 1); cell[c] = NONE; next[c] = NONE };
       c = n
  :: else -> break
  od
}

active proctype owner() {
  byte c, t, n, seen;
  do
  /* a task becomes ready: alone, or as the second of a list */
  :: made < TASKS ->
       if
       :: word == NONE && cell[0] == NONE ->
            cell[0] = made; made++;
            atomic { assert(word == NONE); word = 0 }
       :: word == NONE && cell[1] == NONE ->
            cell[1] = made; made++;
            atomic { assert(word == NONE); word = 1 }
       :: word == NONE && cell[0] == NONE && cell[1] == NONE && made + 1 < TASKS ->
            cell[0] = made; made++;
            cell[1] = made; made++;
            next[0] = 1;
            atomic { assert(word == NONE); word = 0 }
       :: else -> skip
       fi
  /* idle: takes back what it has shown, if it still can */
  :: word != NONE ->
       seen = word;
       c = NONE;
       atomic {
         if
         :: seen != NONE && word == seen -> word = NONE; c = seen
         :: else -> skip
         fi
       };
       run_list(c, t, n)
  :: made == TASKS && word == NONE -> break
  od;
  ended++
}

active [THIEVES] proctype thief() {
  byte c, t, n, seen;
  do
  :: made == TASKS && word == NONE -> break
  :: else ->
       seen = word;
       c = NONE;
       atomic {
         if
         :: seen != NONE && word == seen -> word = NONE; c = seen
         :: else -> skip
         fi
       };
       run_list(c, t, n)
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
