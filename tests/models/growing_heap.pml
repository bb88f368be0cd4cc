/* SPDX-License-Identifier: Apache-2.0 */
/* A heap that grows (libcore/net/growing_heap.hpp, heap_regions.cc): its owner registers PARTS parts, one after the other, while two
 * readers are told of objects in them, by the owner or by each other.
 *
 * A row has two words (where the part lies, its key). The owner's stores are seen in their order, as a release has it. A get reads its
 * words in any order, and each when it likes; what one get reads is read after what a get that is complete has read.
 *
 * Proved: a reader that is told of an object finds the row of its part, whole, and what the row names is registered. It knows all parts
 * up to the last one that it has heard of, whatever the owner adds meanwhile.
 */
#define PARTS 3
#define NAMES 2              /* as many times as there are parts each reader hears of one: from the owner, and from the other */

bit registered[PARTS];
bit place[PARTS];            /* the words of the rows */
bit key[PARTS];
byte count;
chan told[2] = [PARTS * NAMES] of { byte };

active proctype owner() {
  byte i;
  do
  :: i < PARTS ->
       registered[i] = 1;    /* grow(): the device has it */
       place[i] = 1;         /* the row */
       key[i] = 1;
       count = i + 1;        /* and its count */
       told[0]!i;            /* an object in it is named */
       told[1]!i;
       i++
  :: else -> break
  od
}

inline read_row(k) {
  bit p, q, has_p, has_q;
  p = 0; q = 0; has_p = 0; has_q = 0;
  do
  :: atomic { !has_p -> p = place[k]; has_p = 1 }
  :: atomic { !has_q -> q = key[k]; has_q = 1 }
  :: has_p && has_q -> break
  od;
  assert(p && q);
  assert(registered[k])
}

proctype reader(byte me) {
  byte known, n, object, heard;
  do
  :: heard < PARTS * NAMES ->
       told[me]?object;
       heard++;
       if
       :: heard <= PARTS -> told[1 - me]!object  /* it passes on what it has heard */
       :: else -> skip
       fi;
       if
       :: object < known -> skip
       :: else ->
            n = count;       /* ask(): the count */
            do
            :: known < n -> read_row(known); known++
            :: else -> break
            od
       fi;
       assert(object < known);
       assert(registered[object])
  :: else -> break
  od
}

init { atomic { run reader(0); run reader(1) } }
