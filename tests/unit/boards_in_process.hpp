// SPDX-License-Identifier: Apache-2.0
// Boards of three workers, moved by one thread, announced or looked for.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/fabric_in_process.hpp"
#include "transports/soft/board.hpp"

struct over {
  const char* name;
  const char* modes;
  bool announced;
};
inline std::string name_of(const testing::TestParamInfo<over>& tested) {
  return std::string(tested.param.name) + (*tested.param.modes == '\0' ? "" : "_") + tested.param.modes +
         (tested.param.announced ? "_announced" : "_looked_for");
}

// Three workers with a board each, moved by one thread.
class boards : public testing::TestWithParam<over> {
 protected:
  fabric_in_process fabric_{GetParam().name, GetParam().modes, 3};
  tobi::transports::soft::key_list keys_{3};
  std::vector<std::unique_ptr<tobi::transports::soft::board>> board_;

  void make_boards(std::size_t bytes) {
    for (int r = 0; r < 3; ++r) {
      board_.push_back(std::make_unique<tobi::transports::soft::board>(fabric_.of(r), bytes, keys_, 3));
      board_.back()->announce(GetParam().announced);
      keys_.set(index(r), board_.back()->key());
    }
  }
  // Moves a worker as its progress() does.
  template <class Look>
  void move(int rank, Look look) {
    if (!GetParam().announced) return fabric_.of(rank).progress();
    for (tobi::transports::notice n; fabric_.of(rank).poll_notice(n) == tobi::status::ok;) look(n);
  }
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
};
