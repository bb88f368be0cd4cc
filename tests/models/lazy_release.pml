/* SPDX-License-Identifier: Apache-2.0 */
/* The lazy release (libcore/pgas/memory.hpp; SC'23, figure 6, with a byte of the doorbell for the atomic maximum).
 *
 * An owner writes data into its cache, shows a continuation with a ticket, goes on writing, and polls. Two thieves, one
 * for each continuation, wait by the ticket and then read the home. The fabric delivers puts late: the thief's request,
 * and the owner's write-back, which is at home only when its flush has been answered. What is checked: a thief reads at
 * least what was written before its continuation was shown, and nobody waits for ever (no invalid end state).
 */
#define ROUNDS 2

byte cached;            /* the owner's newest write: 1, 2, ... */
bool dirty;
byte home;              /* what lies at the data's home */
byte epoch;
bool bell;
byte in_flight;         /* a write-back on its way to the home; 0: none */
byte requests;          /* thieves' puts of the bell on their way */
bool ended;             /* the owner runs no task any more; it idles and polls */

byte shown;             /* continuations shown so far */
byte ticket[ROUNDS];    /* epoch to wait for; 0: nothing */
byte wants[ROUNDS];     /* what was written before it was shown */
byte done;

inline release() {
  if
  :: dirty ->
     in_flight = cached;
     dirty = false;
     (in_flight == 0);   /* flush */
     epoch++
  :: else -> skip
  fi
}

inline serve() {
  if
  :: bell -> bell = false; release()
  :: else -> skip
  fi
}

active proctype owner() {
  byte i;
  for (i : 0 .. ROUNDS - 1) {
    cached++; dirty = true;
    if :: true -> release() :: true -> skip fi;   /* a fence for another reason, or none */
    atomic {
      wants[i] = cached;
      ticket[i] = (dirty -> epoch + 1 : 0);
      shown++
    }
    if :: true -> cached++; dirty = true :: true -> skip fi;   /* the child goes on writing */
    serve()
  }
  ended = true;
  do
  :: done == ROUNDS -> break
  :: bell -> serve()
  od
}

active [ROUNDS] proctype thief() {
  byte seen;
  bool asked = false;
  byte me = _pid - 1;
  (shown > me);
  do
  :: ticket[me] == 0 -> break
  :: else ->
     seen = epoch;          /* a get: one moment of the owner's word */
     if
     :: seen >= ticket[me] -> break
     :: else ->
        if
        :: !asked -> asked = true; requests++
        :: else -> (epoch > seen)  /* waits for a change, instead of reading the same again */
        fi
     fi
  od;
  assert(home >= wants[me]);
  done++
}

/* The fabric. */
active proctype fabric() {
end:
  do
  :: atomic { in_flight != 0 -> home = in_flight; in_flight = 0 }
  :: atomic { requests > 0 -> requests--; bell = true }
  od
}
