/* SPDX-License-Identifier: Apache-2.0 */
/* The steal word (libcore/deque/steal_word.hpp): one owner, THIEVES thieves, WINDOWS windows of RING slots each. With two windows
 * thief 0 looks at the near one and at no other, thief 1 at the far one; with one both look at that.
 *
 * A frame is a number in the owner's stack cell of its depth. The owner pushes, publishes, takes back, and overwrites cells as it
 * returns and forks again. A thief's look at the window may mix words from different moments (a remote read is not atomic over a
 * line): W and the entry are read in separate steps, in either order. Claim and copy are a chain: the copy is a later step.
 *
 * When a child returns whose parent was taken, an older entry may be left in the other window. The owner takes it back itself,
 * and goes on with it once all that was taken is acknowledged; else the region is empty. It may also take back what the near
 * window has and show that in the far one.
 *
 * Proved for every interleaving of the bounded run:
 *   - each continuation is taken by one thief or popped by the owner, never both, never twice (taken[], popped[])
 *   - a thief that won its claim copies the frame that was published, whole: no cell is overwritten before the acknowledgement
 *   - a slot of the ring is not rewritten before its entry was acknowledged or taken back
 *   - nothing is lost: at the end every frame was popped or taken
 */
#ifndef WINDOWS
#define WINDOWS 1
#endif
#ifndef FORKS
#define FORKS 3      /* frames that the owner makes in all */
#endif
#define THIEVES 2
#define RING 2
#define DEPTH 3      /* cells of its stack */
#define NONE 255
#define NEAR 0
#define FAR (WINDOWS - 1)
#define AT(w, i) ((w) * RING + (i) % RING)

/* W */
byte top[WINDOWS], split[WINDOWS], tag[WINDOWS];
/* the windows: the entry's sequence number (its index) and the cell that it names */
byte entry_seq[WINDOWS * RING] = NONE;
byte entry_cell[WINDOWS * RING];
byte ack[WINDOWS * RING] = NONE;   /* index of the last entry that was copied out of the slot */
byte copying[WINDOWS * RING];      /* ghost: a thief that has claimed this slot's entry has not copied yet */

byte cell[DEPTH] = NONE;     /* the owner's stack: frame numbers */
bool taken[FORKS], popped[FORKS];
bool done;
bool bell[WINDOWS];

/* With two windows the owner may show whatever it likes, and the near thief's look is the CPU's, so that the far one's is left to
 * the run with one: what is new there are the two words. */
#define RUNG(w) (WINDOWS == 2 || bell[w])

inline win_check(n) {
  assert(n < FORKS && !taken[n] && !popped[n])
}

/* ack of the index that last used the slot of i, which lies RING below i; true when there was none */
#define ACKED(w, i) ((i) < RING || ack[AT(w, i)] == (i) - RING)
#define SHOWN(w) (split[w] - top[w])
/* the cell of the youngest entry that window w shows */
#define YOUNGEST(w) entry_cell[AT(w, split[w] - 1)]

inline publish(win, which) {  /* the owner's, of one cell */
  i = split[win];
  assert(copying[AT(win, i)] == 0);
  entry_cell[AT(win, i)] = which;
  entry_seq[AT(win, i)] = i;
  /* compare-and-swap on W, retried when a thief moved top: only split and tag change */
  atomic { split[win]++; tag[win]++ }
}

inline await_acknowledgements(win) {  /* of one window */
  i = 1;
  do
  :: i <= RING && i <= top[win] -> (ack[AT(win, top[win] - i)] == top[win] - i); i++
  :: else -> break
  od
}

inline pop(which) {
  win_check(cell[which]);
  popped[cell[which]] = 1
}

active proctype owner() {
  byte made = 0, depth = 0;    /* depth cells are in use; the oldest `shown` of them were published */
  byte shown = 0, i, w, c, older;
  bool got;

  do
  /* fork: a frame in the next cell, over whatever was in it */
  :: made < FORKS && depth < DEPTH ->
       cell[depth] = made; made++; depth++

  /* the doorbell: publish the oldest private frame, if the slot is free (I3) */
  :: shown < depth ->
       if
       :: RUNG(NEAR) -> w = NEAR
       :: RUNG(FAR) -> w = FAR
       fi;
       bell[w] = 0;
       if
       :: ACKED(w, split[w]) && SHOWN(w) < RING -> publish(w, shown); shown++
       :: else -> skip
       fi

#if WINDOWS == 2
  /* nothing private for a far thief: what the near window has moves, the oldest first; not beside younger ones (I6) */
  :: shown == depth && SHOWN(FAR) == 0 && SHOWN(NEAR) != 0 && ACKED(FAR, split[FAR]) ->
       got = 0;
       atomic {
         if
         :: SHOWN(NEAR) != 0 -> c = entry_cell[AT(NEAR, top[NEAR])]; older = SHOWN(NEAR); w = YOUNGEST(NEAR);
                                split[NEAR] = top[NEAR]; tag[NEAR]++; got = 1
         :: else -> skip
         fi
       };
       if
       :: got -> publish(FAR, c);
                 if
                 :: older > 1 -> publish(NEAR, w)
                 :: else -> skip
                 fi
       :: else -> skip
       fi
#endif

  /* the innermost child returns to its frame */
  :: depth > 0 ->
       if
       :: depth > shown -> atomic { pop(depth - 1); depth-- }    /* private: plain pop */
       :: else ->                                /* published: take it back, or find it gone */
            got = 0;
            w = 0;
            do
            :: !got && w < WINDOWS ->
                 atomic {
                   if
                   :: SHOWN(w) != 0 && YOUNGEST(w) == depth - 1 ->
                        split[w]--; tag[w]++;
                        pop(depth - 1);
                        depth--; shown--;
                        got = 1
                   :: else -> skip
                   fi
                 };
                 w++
            :: else -> break
            od;
            if
            :: got -> goto next
            :: else -> skip
            fi;
#if WINDOWS == 2
            /* the youngest that is left: one of the two words, by compare-and-swap */
            older = NONE;
            do
            :: SHOWN(NEAR) == 0 && SHOWN(FAR) == 0 -> break
            :: SHOWN(NEAR) != 0 || SHOWN(FAR) != 0 ->
                 i = tag[NEAR]; c = tag[FAR];
                 atomic {
                   if
                   :: SHOWN(NEAR) != 0 && (SHOWN(FAR) == 0 || YOUNGEST(NEAR) > YOUNGEST(FAR)) -> w = NEAR
                   :: SHOWN(FAR) != 0 && (SHOWN(NEAR) == 0 || YOUNGEST(FAR) > YOUNGEST(NEAR)) -> w = FAR
                   :: else -> w = NONE
                   fi
                 };
                 atomic {
                   if
                   :: w != NONE && tag[w] == (w == NEAR -> i : c) && SHOWN(w) != 0 ->
                        older = YOUNGEST(w);
                        split[w]--; tag[w]++
                   :: else -> skip
                   fi
                 };
                 if
                 :: older != NONE -> break
                 :: else -> skip
                 fi
            od;
#endif
            /* wait for the acknowledgements before the cells are used again (I4) */
            await_acknowledgements(NEAR);
#if WINDOWS == 2
            await_acknowledgements(FAR);
            if
            :: older != NONE ->
                 atomic {
                   i = older + 1;                /* what lay below it was taken, all of it */
                   do
                   :: i < depth -> assert(taken[cell[i]]); cell[i] = NONE; i++
                   :: else -> break
                   od;
                   pop(older);
                   depth = older; shown = older
                 };
                 goto next
            :: else -> skip
            fi;
#endif
            atomic {
              assert(shown == depth);
              i = 0;
              do
              :: i < WINDOWS * RING -> assert(copying[i] == 0); i++
              :: else -> break
              od;
              i = 0;
              do
              :: i < depth -> assert(taken[cell[i]]); cell[i] = NONE; i++
              :: else -> break
              od;
              depth = 0; shown = 0
            }
       fi;
next:  skip

  :: made == FORKS && depth == 0 -> break
  od;
  done = 1;
  i = 0;
  do
  :: i < FORKS -> assert(taken[i] || popped[i]); i++
  :: else -> break
  od
}

active [THIEVES] proctype thief() {
  byte t, s, g, e_seq, e_cell, got;
  byte w = (_pid - 1) % WINDOWS;
  bool won;
  do
  :: done -> break
  :: !done ->
       /* round trip 1: the line, its words from different moments and in any order */
#if WINDOWS == 2
       atomic { (done || SHOWN(w) != 0); t = top[w]; s = split[w]; g = tag[w]; e_seq = t }
#else
       if
       :: atomic { t = top[w]; s = split[w]; g = tag[w] };
          atomic { e_seq = entry_seq[AT(w, t)]; e_cell = entry_cell[AT(w, t)] }
       :: atomic { e_seq = entry_seq[AT(w, top[w])]; e_cell = entry_cell[AT(w, top[w])] };
          atomic { t = top[w]; s = split[w]; g = tag[w] }
       fi
#endif
       ;
       if
       :: t == s -> bell[w] = 1
       :: t != s && e_seq != t -> skip           /* does not fit: torn or stale */
       :: else ->
            /* round trip 2, first of the chain: the claim */
            won = 0;
            atomic {
              if
              :: top[w] == t && split[w] == s && tag[w] == g -> top[w]++; tag[w]++; won = 1; copying[AT(w, t)]++
              :: else -> skip
              fi
            };
            if
            :: won ->
                 /* second and third of the chain, any time later: the entry once more, and the frames that it names (what was
                    copied by the first reading's word is copied again where the two differ) */
                 e_cell = entry_cell[AT(w, t)];
                 atomic {
                   got = cell[e_cell];
                   win_check(got);
                   taken[got] = 1;
                   copying[AT(w, t)]--
                 };
                 ack[AT(w, t)] = t               /* unwaited put */
            :: else -> skip
            fi
       fi
  od
}
