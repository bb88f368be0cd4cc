/* SPDX-License-Identifier: Apache-2.0 */
/* Requests that are announced (transports/soft/board.hpp, amo_server.cc, amo_client.cc): a client with SLOTS cells at its server, which
 * looks for requests where a notice has come, and nowhere else.
 *
 * The fabric keeps no order between puts: each word of a request becomes visible when it likes, and so does a reply. It promises that
 * the notice of a put comes behind that put. A cell says of which request it is (the code: its turn); a slot is written again only
 * after its reply was read.
 *
 * Proved: every request is executed once, in the client's order, with both of its words, and the client gets every reply. A request
 * that is lost is a client that waits for ever, which is an invalid end.
 */
#define REQUESTS 5
#define SLOTS 2
#define NONE 0

byte first[SLOTS];           /* the words of the cells: 1 + a request's number */
byte second[SLOTS];
byte reply[SLOTS];
bit posted[REQUESTS];        /* what is under way */
bit first_there[REQUESTS];
bit second_there[REQUESTS];
bit told[REQUESTS];
bit answering[REQUESTS];
byte notices;                /* that the server has not taken */
byte served;

active proctype client() {
  byte asked, answered;
  do
  :: atomic { asked < REQUESTS && asked - answered < SLOTS -> posted[asked] = 1; asked++ }
  :: atomic { answered < asked && reply[answered % SLOTS] == answered + 1 -> answered++ }
  :: answered == REQUESTS -> break
  od;
  assert(served == REQUESTS)
}

/* One for each request: its words in any order, then its notice. */
proctype put(byte i) {
  (posted[i]);
  do
  :: atomic { !first_there[i] -> first[i % SLOTS] = i + 1; first_there[i] = 1 }
  :: atomic { !second_there[i] -> second[i % SLOTS] = i + 1; second_there[i] = 1 }
  :: atomic { first_there[i] && second_there[i] && !told[i] -> told[i] = 1; notices++ }
  :: told[i] -> break
  od;
  (answering[i]);
  reply[i % SLOTS] = i + 1
}

active proctype server() {
  byte seen;
end:
  do
  :: notices > 0 -> notices--;
       do
       :: first[served % SLOTS] == served + 1 ->
            seen = second[served % SLOTS];
            if
            :: seen == served + 1 -> atomic { answering[served] = 1; served++ }
            :: else -> break
            fi
       :: else -> break
       od
  od
}

init {
  byte i;
  atomic {
    do
    :: i < REQUESTS -> run put(i); i++
    :: else -> break
    od
  }
}
