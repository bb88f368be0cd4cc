// Registered memory of a software protocol: zeroed, in a memory file of its own so that every transport can register
// it.
#pragma once

#include <cstddef>

#include "transports/soft/memory_file.hpp"
#include "transports/transport.hpp"

namespace tobi::transports::soft {

class board {
 public:
  /// BYTES registered with OVER. Fatal when that fails.
  board(transport& over, std::size_t bytes);
  ~board();
  board(const board&) = delete;
  board& operator=(const board&) = delete;

  [[nodiscard]] std::byte* at(std::size_t offset) const noexcept { return file_.at(offset); }
  [[nodiscard]] const region_key& key() const noexcept { return key_; }

 private:
  transport& over_;
  memory_file file_;
  region_key key_;
};

}  // namespace tobi::transports::soft
