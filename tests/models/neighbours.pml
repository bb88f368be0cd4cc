/* SPDX-License-Identifier: Apache-2.0 */
/* The caches of a node as one (libcore/pgas/neighbours.hpp, N1 to N5).
 *
 * One number has its home on another node. One task, the token, writes it and reads it, and moves: between the two
 * workers of this node, by a steal, and to the other node and back. Either worker fetches the number, copies it from
 * its neighbour or gives its place away at any moment, for the sake of what lies around it. What is checked: wherever
 * the task is, what it finds valid in the cache is what it has written last.
 */
#ifndef MOVES
#define MOVES 2
#endif
#ifndef TAKES
#define TAKES 3          /* fetches, copies and places given away */
#endif
#define GARBAGE 255
#define REMOTE 2

byte clock = 1;
byte home;               /* the number where it lies */
byte newest;             /* what the task has written last */
byte token = REMOTE;     /* where the task is */
byte comes;              /* how it came: 0: it has arrived; 1: from the neighbour; 2: from the other node */
byte moves, takes;
bool wrote;              /* the task has written since it came: once is enough */

byte from[2] = 1;        /* copies_from */
byte gen[2] = 1;         /* generation_: what is older is not valid */
byte data[2];            /* the bytes of the cache's block */
byte since[2];           /* the slot's generation; 0: there is no slot */
bool dirty[2];
byte shown[2];           /* time of what is shown; 0: nothing */
byte version[2];

inline step(me) { atomic { clock++; from[me] = clock } }
inline later(who, t) { if :: t > who -> who = t :: else -> skip fi }
inline hide(me) { if :: shown[me] != 0 -> shown[me] = 0; version[me]++ :: else -> skip fi }

/* N1, N5 */
inline fetch(me) {
  t = clock;
  hide(me);
  data[me] = GARBAGE;
  data[me] = home;
  atomic { since[me] = t; shown[me] = t; t = 0 }
}

inline copy(me, other) {
  v = version[other];
  t = shown[other];
  if
  :: t != 0 && t >= from[me] ->
     hide(me);
     since[me] = 0;
     data[me] = data[other];
     if
     :: version[other] == v ->
        since[me] = t;
        shown[me] = t
     :: else -> skip      /* changed meanwhile */
     fi
  :: else -> skip
  fi;
  atomic { t = 0; v = 0 }
}

/* What is dirty goes home: the put, and the time behind it. */
inline write_back(me) {
  if
  :: dirty[me] ->
     home = data[me];
     dirty[me] = false;
     step(me)
  :: else -> skip
  fi
}

proctype worker(byte me) {
  byte t, v;
  byte other = 1 - me;
  do
  :: token == me && comes == 2 ->
     step(me);
     gen[me] = from[me];
     wrote = false;
     comes = 0
  :: token == me && comes == 1 ->
     t = from[other];
     later(from[me], t);
     later(gen[me], t);
     t = 0; wrote = false;
     comes = 0
  :: token == me && comes == 0 && since[me] >= gen[me] ->
     assert(data[me] == newest);
     if
     :: !dirty[me] && !wrote -> newest++; data[me] = newest; dirty[me] = true; wrote = true    /* read_write */
     :: dirty[me] -> write_back(me)
     :: else -> skip
     fi
  :: token == me && comes == 0 && since[me] < gen[me] && !dirty[me] && !wrote ->
     hide(me);            /* write alone: a slot of this time, with what is written */
     since[me] = clock;
     newest++; data[me] = newest; dirty[me] = true; wrote = true
  :: token == me && comes == 0 && moves < MOVES ->
     write_back(me);
     if
     :: atomic { moves++; comes = 1; token = other }
     :: atomic { moves++; comes = 2; token = REMOTE }
     fi
  :: takes < TAKES && !dirty[me] -> takes++; fetch(me)
  :: takes < TAKES && !dirty[me] -> takes++; copy(me, other)
  :: takes < TAKES && !dirty[me] && since[me] != 0 -> takes++; hide(me); since[me] = 0
  :: moves == MOVES && (token != me || comes == 0) -> break
  od
}

active proctype elsewhere() {
  do
  :: token == REMOTE && moves < MOVES ->
     if :: true -> newest++; home = newest :: true -> skip fi;
     assert(home == newest);
     if
     :: atomic { moves++; comes = 2; token = 0 }
     :: atomic { moves++; comes = 2; token = 1 }
     fi
  :: moves == MOVES -> break
  od
}

init { atomic { run worker(0); run worker(1) } }
