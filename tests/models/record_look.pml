/* SPDX-License-Identifier: Apache-2.0 */
/* A look at a record (libcore/task/record.hpp) that is completed at that very moment. What it gets of the record comes in any order:
 * the words of one get do, and a get of a chain may read before an earlier one. So the record says itself whether all that its
 * completion writes has come (is_written), and if not it is read once more, behind the look that has found it done.
 *
 * The memory has had a former life as a record that was done. Before anybody knows it (make_unwritten) its head is made to hold no
 * result, and each other word NOTYET. A word of the result may happen to be NOTYET: then the head says so. Two such words here.
 *
 * Proved: who finds the record done goes on with what the completion wrote, whatever it wrote; and some do without a second reading.
 */
#define READERS 2
#define NOTYET 0
#define FORMER 1               /* a word of a former life */
#define VALUE 2
#define CHILD 0                /* heads: no result; a result, and which words of it are NOTYET */
#define RESULT 4

byte word;                     /* 1: done */
byte head = RESULT + 8;        /* as the former life left it: another status */
byte first = FORMER;
byte second = FORMER;
byte wrote_head, wrote_first, wrote_second;

inline written_in_any_order(parts) {
  do
  :: parts % 2 == 0 -> d_step { head = wrote_head; parts = parts + 1 }
  :: parts / 2 % 2 == 0 -> d_step { first = wrote_first; parts = parts + 2 }
  :: parts / 4 % 2 == 0 -> d_step { second = wrote_second; parts = parts + 4 }
  :: parts == 7 -> break
  od
}

proctype child() {
  byte parts;
  if
  :: wrote_first = NOTYET
  :: wrote_first = VALUE
  :: wrote_first = FORMER
  fi;
  if
  :: wrote_second = NOTYET
  :: wrote_second = VALUE
  fi;
  wrote_head = RESULT + (wrote_first == NOTYET -> 1 : 0) + (wrote_second == NOTYET -> 2 : 0);
  written_in_any_order(parts);
  word = 1
}

#define WRITTEN (h >= RESULT && (f != NOTYET || h % 2 == 1) && (s != NOTYET || h / 2 % 2 == 1))

proctype reader() {
  byte parts, h, f, s;
  bool done;
  do
  :: parts % 2 == 0 -> d_step { done = word; parts = parts + 1 }
  :: parts / 2 % 2 == 0 -> d_step { h = head; parts = parts + 2 }
  :: parts / 4 % 2 == 0 -> d_step { f = first; parts = parts + 4 }
  :: parts / 8 % 2 == 0 -> d_step { s = second; parts = parts + 8 }
  :: parts == 15 ->
       if
       :: done -> break
       :: else -> d_step { parts = 0; h = 0; f = 0; s = 0 }   /* waits, and looks again */
       fi
  od;
  if
  :: WRITTEN -> skip
  :: else -> d_step { h = head; f = first; s = second }
  fi;
  assert(h == wrote_head && f == wrote_first && s == wrote_second)
}

init {
  head = CHILD;
  first = NOTYET;
  second = NOTYET;
  atomic { run child(); run reader(); run reader() }
}
