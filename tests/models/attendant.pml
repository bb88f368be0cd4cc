/* SPDX-License-Identifier: Apache-2.0 */
/* The attendant publishes in the owner's place (libcore/deque/steal_word.cc, hold_back; libcore/task/door.hpp), while the owner
 * forks and returns without a fence.
 *
 * The owner's stores go through a buffer, first in first out, and reach memory at any later time (x86-64); its loads do not wait for
 * them. A heavy fence of the attendant empties the buffer at that moment. An entry is a frame's number; frames lie lower the later
 * they were forked on top of each other, and one that is forked anew in the same slot may lie elsewhere.
 *
 * Proved for every interleaving of the bounded run: no frame is popped on the owner's fast path and published as well; each is
 * popped once or taken once; the two are never behind the door at once; nobody waits at it for ever.
 */
#define FORKS 3       /* frames that the owner makes in all */
#define DEPTH 2       /* entries at a time */
#define VISITS 2
#define HIGH 9        /* the stack's top: no frame lies there */
#define BUFFER 4

mtype = { BOTTOM, SLOT, SPLIT, INSIDE };
chan stores = [BUFFER] of { mtype, byte, byte };

byte bottom, slot[DEPTH], split = HIGH, inside, visited;   /* memory */
byte shown;                    /* published or gone entries; touched behind the door alone */
byte top;                      /* of those, taken by thieves */
byte lies_at[FORKS];           /* where a frame lies */
bool popped[FORKS], published[FORKS], taken[FORKS];
bool owner_in, attendant_in;   /* ghosts */
bool done;

inline reach_memory() {
  atomic {
    if
    :: stores?BOTTOM,a,v -> bottom = v
    :: stores?SLOT,a,v -> slot[a] = v
    :: stores?SPLIT,a,v -> split = v
    :: stores?INSIDE,a,v -> inside = v
    fi
  }
}
inline heavy_fence() {
  atomic {
    do
    :: nempty(stores) -> reach_memory()
    :: empty(stores) -> break
    od
  }
}

active proctype memory() {
  byte a, v;
  do
  :: atomic { nempty(stores) -> reach_memory() }
  :: done && empty(stores) -> break
  od
}

active proctype owner() {
  byte depth, made, f, b;
  byte mine[DEPTH];            /* the frames on its stack; depth of them */
  do
  :: made < FORKS && depth < DEPTH ->
       /* a frame below the last one, next to it or further down */
       if
       :: depth == 0 -> b = HIGH
       :: else -> b = lies_at[mine[depth - 1]]
       fi;
       if
       :: lies_at[made] = b - 1
       :: lies_at[made] = b - 2
       fi;
       mine[depth] = made;
       stores!SLOT,depth,made;
       depth++; made++;
       stores!BOTTOM,0,depth
  :: depth > 0 ->
       f = mine[depth - 1];
       stores!BOTTOM,0,(depth - 1);
       if
       :: split > lies_at[f] ->          /* fast: the frame is below the line */
            atomic { assert(!published[f]); popped[f] = true; depth-- }
       :: else ->                        /* slow: it counts again, and the door decides */
            stores!BOTTOM,0,depth;
            stores!INSIDE,0,1;
            (visited == 0);
            owner_in = true; assert(!attendant_in);
            if
            :: depth > shown ->          /* private after all */
                 atomic { assert(!published[f]); popped[f] = true; depth-- }
            :: depth <= shown ->
                 atomic {
                   if
                   :: top < shown ->     /* taken back */
                        assert(published[f] && !taken[f]);
                        published[f] = false; popped[f] = true; depth--; shown--
                   :: else ->            /* gone, and all older ones: the stack is empty */
                        depth = 0; shown = 0; top = 0
                   fi
                 }
            fi;
            stores!BOTTOM,0,depth;
            if
            :: shown == 0 -> stores!SPLIT,0,HIGH
            :: else -> stores!SPLIT,0,lies_at[mine[shown - 1]]
            fi;
            owner_in = false;
            stores!INSIDE,0,0
       fi
  :: made == FORKS && depth == 0 -> break
  od;
  done = true;
  f = 0;
  do
  :: f < FORKS -> assert(popped[f] + taken[f] == 1); f++
  :: else -> break
  od
}

active proctype attendant() {
  byte a, v, until, line, held, now, visits;
  do
  :: visits < VISITS ->
       visits++;
       visited = 1;
       heavy_fence();  /* of the door */
       if
       :: inside -> visited = 0
       :: else ->
            attendant_in = true; assert(!owner_in);
            until = bottom;
            if
            :: until > shown ->
                 line = lies_at[slot[until - 1]];
                 split = line;
                 heavy_fence();  /* of hold_back */
                 now = bottom;
                 if
                 :: now < until -> until = now  /* as it is now */
                 :: else -> skip
                 fi;
                 held = shown;
                 do
                 :: held < until && lies_at[slot[held]] >= line -> held++  /* at or above the line */
                 :: else -> break
                 od;
                 do
                 :: shown < held ->
                      atomic { assert(!popped[slot[shown]] && !published[slot[shown]]); published[slot[shown]] = true; shown++ }
                 :: else -> break
                 od;
                 if
                 :: shown == 0 -> split = HIGH
                 :: else -> split = lies_at[slot[shown - 1]]
                 fi
            :: else -> skip
            fi;
            attendant_in = false;
            visited = 0
       fi
  :: done || visits == VISITS -> break
  od
}

active proctype thief() {
  do
  :: atomic { top < shown && published[slot[top]] && !taken[slot[top]] -> taken[slot[top]] = true; top++ }
  :: done -> break
  od
}
