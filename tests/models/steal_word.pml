/* The steal word (libcore/task/steal_word.hpp): one owner, THIEVES thieves, a ring of RING slots.
 *
 * A frame is a number in the owner's stack cell of its depth. The owner pushes, publishes, takes back, and overwrites cells as it
 * returns and forks again. A thief's look at the window may mix words from different moments (a remote read is not atomic over a
 * line): W and the entry are read in separate steps, in either order. Claim and copy are a chain: the copy is a later step.
 *
 * Proved for every interleaving of the bounded run:
 *   - each continuation is taken by one thief or popped by the owner, never both, never twice (taken[], popped[])
 *   - a thief that won its claim copies the frame that was published, whole: no cell is overwritten before the acknowledgement
 *   - a slot of the ring is not rewritten before its entry was acknowledged or taken back
 *   - nothing is lost: at the end every frame was popped or taken
 */
#ifndef THIEVES
#define THIEVES 2
#endif
#define RING 2
#define FORKS 3      /* frames that the owner makes in all */
#define DEPTH 3      /* cells of its stack */
#define NONE 255

/* W */
byte top, split, tag;
/* the window: the entry's sequence number (its index) and the cell that it names */
byte entry_seq[RING] = NONE;
byte entry_cell[RING];
byte ack[RING] = NONE;       /* index of the last entry that was copied out of the slot */
byte copying[RING];          /* ghost: a thief that has claimed this slot's entry has not copied yet */

byte cell[DEPTH] = NONE;     /* the owner's stack: frame numbers */
bool taken[FORKS], popped[FORKS];
bool done;
bool bell;

inline win_check(n) {
  assert(n < FORKS && !taken[n] && !popped[n])
}

/* ack of the index that last used slot s, which lies RING below i; true when there was none */
#define ACKED(i) ((i) < RING || ack[((i) - RING) % RING] == (i) - RING)

active proctype owner() {
  byte made = 0, depth = 0;    /* depth cells are in use; the oldest `shown` of them are published */
  byte shown = 0, i, s_top, s_split, s_tag;
  byte base = 0;               /* index of cell 0's entry: indices only grow */

  do
  /* fork: a frame in the next cell */
  :: made < FORKS && depth < DEPTH ->
       cell[depth] = made; made++; depth++

  /* the doorbell: publish the oldest private frame, if the slot is free (I3) */
  :: bell && shown < depth ->
       bell = 0;
       i = split;
       if
       :: ACKED(i) && (split - top) < RING ->
            assert(copying[i % RING] == 0);
            entry_cell[i % RING] = shown;
            entry_seq[i % RING] = i;
            /* compare-and-swap on W, retried when a thief moved top: only split and tag change */
            atomic { split++; tag++ };
            shown++
       :: else -> skip
       fi

  /* the innermost child returns to its frame */
  :: depth > 0 ->
       if
       :: depth > shown ->                       /* private: plain pop */
            atomic { win_check(cell[depth - 1]); popped[cell[depth - 1]] = 1; depth-- }
       :: else ->                                /* published: take it back, or find it gone */
            s_top = top; s_split = split; s_tag = tag;
            if
            :: s_top == s_split -> goto gone
            :: else ->
                 atomic {
                   if
                   :: top == s_top && split == s_split && tag == s_tag ->
                        split--; tag++;
                        win_check(cell[depth - 1]);
                        popped[cell[depth - 1]] = 1;
                        depth--; shown--
                   :: else -> skip               /* a thief came between: look again */
                   fi
                 }
            fi
       fi;
       goto next;
gone:  /* every older one is taken too; wait for the acknowledgements before the cells are used again (I4) */
       i = 1;
       do
       :: i <= RING && i <= top -> (ack[(top - i) % RING] == top - i); i++
       :: else -> break
       od;
       atomic {
         assert(shown == depth);
         i = 0;
         do
         :: i < RING -> assert(copying[i] == 0); i++
         :: else -> break
         od;
         i = 0;
         do
         :: i < depth -> cell[i] = NONE; i++
         :: else -> break
         od;
         depth = 0; shown = 0
       }
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
  bool won;
  do
  :: done -> break
  :: !done ->
       /* round trip 1: the line, its words from different moments and in any order */
       if
       :: atomic { t = top; s = split; g = tag };
          atomic { e_seq = entry_seq[t % RING]; e_cell = entry_cell[t % RING] }
       :: atomic { e_seq = entry_seq[top % RING]; e_cell = entry_cell[top % RING] };
          atomic { t = top; s = split; g = tag }
       fi;
       if
       :: t == s -> bell = 1
       :: t != s && e_seq != t -> skip           /* does not fit: torn or stale */
       :: else ->
            /* round trip 2, first of the chain: the claim */
            won = 0;
            atomic {
              if
              :: top == t && split == s && tag == g -> top++; tag++; won = 1; copying[t % RING]++
              :: else -> skip
              fi
            };
            if
            :: won ->
                 /* second and third of the chain, any time later: the entry once more, and the frames that it names (what was
                    copied by the first reading's word is copied again where the two differ) */
                 e_cell = entry_cell[t % RING];
                 atomic {
                   got = cell[e_cell];
                   win_check(got);
                   taken[got] = 1;
                   copying[t % RING]--
                 };
                 ack[t % RING] = t               /* unwaited put */
            :: else -> skip
            fi
       fi
  od
}
