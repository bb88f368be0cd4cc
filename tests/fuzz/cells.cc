// SPDX-License-Identifier: Apache-2.0
// Cells that peers write: what a cell is unpacked to is what its words say, and a cell that is not whole is no message.
#include <array>
#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "transports/soft/cell.hpp"

namespace {

struct payload {
  std::array<unsigned char, 50> bytes;
};
using cell = tobi::transports::soft::cell<payload>;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  cell c{};
  std::memcpy(&c, data, bytes < sizeof c ? bytes : sizeof c);
  const std::uint8_t turn = tobi::transports::soft::turn_of(bytes, 16);
  payload got{};
  if (!c.unpack(turn, got)) return 0;
  const cell again = cell::pack(got, turn);
  for (std::size_t i = 0; i + 1 < cell::words; ++i) {
    if (again.word[i] != c.word[i]) std::abort();  // behind the payload the last word may hold anything
  }
  return 0;
}
