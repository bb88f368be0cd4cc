/* SPDX-License-Identifier: Apache-2.0 */
/* What a cache fetches before it is asked for (libcore/pgas/cache.hpp, C3 to C5). The names are those of cache.cc.
 *
 * One worker's cache has place for one of two blocks, whose homes are on another node. One task, the token, writes the
 * two bytes of block 0 and reads them. It runs here and elsewhere by turns: what it leaves is released, and what it
 * comes to acquires. The worker fetches ahead, checks out the other block, and acquires for another task, at any
 * moment, with the token or without it. The fabric reads a home and writes the place at any time between a get's post
 * and its completion, each byte by itself, and so it does with puts. What is checked:
 *   A1  What the task reads is what it wrote last, here or elsewhere. Bytes that were posted before its acquire, and
 *       land behind it, do not count.
 *   A2  What is on its way is no hit before it is complete. Until then the place has other bytes.
 *   A3  What is written stays, here and at its home: nothing that was on its way lands on it.
 *   A4  What lands is of the block that has the place. Each byte has values of its own.
 *   A5  Nobody waits for ever (no invalid end state).
 * What neighbours copy of it is in neighbours.pml.
 */
#define WRITES 3                 /* of each byte */
#define BYTES 2                  /* of a block; sets of them are masks */
#define BOTH 3
#define AT(b, u) ((b) * BYTES + (u))
#define NEXT (2 * BYTES)         /* values of a byte: its address, and this much more with each write */
#define WITHOUT(set, those) ((set) & (BOTH - (those)))
#define MAY_WRITE(u) (newest[u] < WRITES * NEXT)
#define NO_BLOCK 2
#define GARBAGE 255

mtype = { none, read, write, read_write };

byte home[2 * BYTES];
byte newest[2 * BYTES];          /* what was written last */
bool here;                       /* where the token is */
bool comes;                      /* it is here, and has acquired nothing */
#define MINE (here && !comes)

/* The fabric. A cache that is right has one get at most on its way to a byte. */
#define POSTED 1
#define CARRIES 2
byte flying[2 * BYTES];          /* gets, two to each byte: 0, POSTED, or CARRIES + what was read */
byte gets_from[2 * BYTES];
byte puts_to[BYTES];             /* address + 1; 0: no put */
byte under_way;

/* The slot. */
byte pool[BYTES] = GARBAGE;
byte block = NO_BLOCK;
bool older;                      /* its generation is less than the cache's */
bool fetching, storing;
byte coming, valid, dirty;

/* The checkout that is held. */
mtype how = none;
byte of_block, held;
bool awaited, written;

inline get(gap) {
  if
  :: (gap) != 0 ->
     coming = (fetching -> coming : 0) | (gap);
     fetching = true
  :: else
  fi;
  for (u : 0 .. BYTES - 1) {
    if
    :: (gap) >> u & 1 ->
       f = (flying[u] == 0 -> u : BYTES + u);
       (flying[f] == 0);
       flying[f] = POSTED;
       gets_from[f] = AT(block, u);
       under_way++
    :: else
    fi
  }
  u = 0; f = 0
}

inline put_home(what) {
  for (u : 0 .. BYTES - 1) {
    if
    :: (what) >> u & 1 ->
       (puts_to[u] == 0);
       puts_to[u] = AT(block, u) + 1;
       storing = true;
       under_way++
    :: else
    fi
  }
  u = 0
}

/* All homes are of one rank. */
inline land() {
  (under_way == 0);
  fetching = false;
  storing = false
}

inline settle() {
  if
  :: storing -> land()
  :: else
  fi
}

inline write_back() {
  put_home(dirty);
  dirty = 0;
  settle()
}

#define IS_EVICTABLE (how == none && dirty == 0 && !fetching && !storing)

/* empty_slot and settle_in */
inline settle_in(b) {
  valid = 0;
  fetching = false;
  storing = false;
  block = b;
  older = false
}

inline begin_generation() {
  valid = dirty;
  older = false
}

/* A sub-block is a byte, or both. */
inline fetch(wanted) {
  if
  :: sub = wanted
  :: sub = BOTH
  fi;
  get(WITHOUT(sub, valid));
  valid = valid | sub;
  sub = 0
}

/* Its first half is slot_ahead. */
inline fetch_ahead(b, wanted) {
  if
  :: block != b && IS_EVICTABLE -> settle_in(b)
  :: else
  fi;
  if
  :: block != b
  :: block == b && storing
  :: block == b && older && (how != none || fetching)
  :: else ->
     if
     :: older -> begin_generation()
     :: else
     fi;
     fetch(wanted)
  fi
}

inline finish() {
  if
  :: awaited ->
     awaited = false;
     if
     :: fetching -> land()
     :: else
     fi
  :: else
  fi
}

/* Where there is no room, take_cache_slot waits for all that is under way. */
inline checkout_slowly(b, wanted, h) {
  if
  :: block != b && !IS_EVICTABLE -> land(); write_back(); settle_in(b)
  :: block != b && IS_EVICTABLE -> settle_in(b)
  :: else
  fi;
  settle();
  if
  :: older ->
     if
     :: fetching -> land()  /* old bytes */
     :: else
     fi;
     begin_generation()
  :: else
  fi;
  if
  :: h == write -> valid = valid | wanted
  :: h != write && WITHOUT(wanted, valid) != 0 -> fetch(wanted); awaited = true
  :: else
  fi;
  if
  :: fetching && (wanted & coming) != 0 -> awaited = true
  :: else
  fi
}

/* checkout_slot is its first half. */
inline checkout(b, wanted, h) {
  if
  :: block == b && !fetching && !storing && !older && WITHOUT(wanted, valid) == 0
  :: else -> checkout_slowly(b, wanted, h)
  fi;
  how = h; of_block = b; held = wanted;
  if
  :: finish()
  :: skip                   /* it does not wait */
  fi
}

inline checkin() {
  finish();
  if
  :: how == read
  :: how != read -> put_home(held)          /* the policies write_through */
  :: how != read -> dirty = dirty | held    /* and write_back */
  fi;
  how = none; of_block = 0; held = 0; written = false
}

/* What is GONE is to be changed at its home. */
inline send_home(b, gone) {
  if
  :: block == b ->
     if
     :: fetching -> land()  /* it would land on what is fetched next */
     :: else
     fi;
     settle();
     put_home(dirty & gone);
     dirty = WITHOUT(dirty, gone);
     valid = WITHOUT(valid, gone);
     settle()
  :: else
  fi
}

/* What the cache does not have comes from the home. */
inline read_around(b) {
  if
  :: block == b && (fetching || storing) -> land()
  :: else
  fi;
  for (u : 0 .. BYTES - 1) {
    if
    :: block == b && (older -> dirty : valid) >> u & 1 -> assert(pool[u] == newest[AT(b, u)])
    :: else -> assert(home[AT(b, u)] == newest[AT(b, u)])
    fi
  }
  u = 0
}

inline write_one(place, u) {
  newest[u] = newest[u] + NEXT;
  place = newest[u]
}

inline look() {
  for (u : 0 .. BYTES - 1) {
    if
    :: held >> u & 1 && (how != write || written) -> assert(pool[u] == newest[AT(of_block, u)])
    :: else
    fi
  }
  u = 0
}

inline write_all() {
  for (u : 0 .. BYTES - 1) {
    if
    :: held >> u & 1 -> write_one(pool[u], u)
    :: else
    fi
  }
  u = 0; written = true
}

inline any(w) {
  if
  :: w = 1
  :: w = 2
  :: w = BOTH
  fi
}

proctype worker() {
  byte u, f, sub, w;
  do
  :: atomic { how == none && here && comes -> older = (block != NO_BLOCK); comes = false }
  :: atomic { how == none -> older = (block != NO_BLOCK) }  /* another task acquires */
  :: atomic { any(w); fetch_ahead(0, w); w = 0 }
  :: atomic { any(w); fetch_ahead(1, w); w = 0 }
  :: atomic { how == none && MINE -> any(w); checkout(0, w, read); w = 0 }
  :: atomic { how == none && MINE -> any(w); checkout(0, w, read_write); w = 0 }
  :: atomic { how == none && MINE -> any(w); checkout(0, w, write); w = 0 }
  :: atomic { how == none -> any(w); checkout(1, w, read); w = 0 }
  :: atomic { how != none && awaited -> finish() }
  :: atomic { how != none && !awaited -> look() }
  :: atomic {
       how != none && how != read && !awaited && !written &&
       (!(held & 1) || MAY_WRITE(0)) && (!(held & 2) || MAY_WRITE(1)) -> write_all()
     }
  :: atomic { how == read || how == read_write || written -> checkin() }
  :: atomic { how == none && MINE -> read_around(0) }
  :: atomic { how == none && MINE && MAY_WRITE(0) -> send_home(0, 1); write_one(home[0], 0) }
  :: atomic { how == none && MINE -> write_back(); here = false }
  od
}

proctype elsewhere() {
  do
  :: atomic { !here -> assert(home[0] == newest[0] && home[1] == newest[1]) }
  :: atomic { !here && MAY_WRITE(0) -> write_one(home[0], 0) }
  :: atomic { !here && MAY_WRITE(1) -> write_one(home[1], 1) }
  :: atomic { !here -> here = true; comes = true }
  od
}

inline reads(f) {
  atomic { flying[f] == POSTED -> flying[f] = CARRIES + home[gets_from[f]] }
}
inline lands(f) {
  atomic { flying[f] >= CARRIES -> pool[f % BYTES] = flying[f] - CARRIES; flying[f] = 0; gets_from[f] = 0; under_way-- }
}
inline reaches(u) {
  atomic { puts_to[u] != 0 -> home[puts_to[u] - 1] = pool[u]; puts_to[u] = 0; under_way-- }
}

proctype fabric() {
end:
  do
  :: reads(0) :: reads(1) :: reads(2) :: reads(3)
  :: lands(0) :: lands(1) :: lands(2) :: lands(3)
  :: reaches(0) :: reaches(1)
  od
}

init {
  byte a;
  atomic {
    for (a : 0 .. 2 * BYTES - 1) { home[a] = a; newest[a] = a }
    a = 0;
    run worker(); run elsewhere(); run fabric()
  }
}
