// SPDX-License-Identifier: Apache-2.0
// From a block of the view to the slot that holds it: a flat array over the whole view, 4 bytes per block, whose pages
// exist once they are used. A look-up is one load; the paper uses hash tables (section 4.3.1).
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>

#include "libcore/base/log.hpp"
#include "libcore/base/refusal.hpp"

namespace tobi::pgas {

class block_table {
 public:
  explicit block_table(std::size_t blocks) : bytes_(blocks * sizeof(std::uint32_t)) {
    void* at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) {
      base::fatal("no memory for the table of the global memory's blocks" +
                  base::refusal(errno, "mmap", "lower TOBI_GLOBAL_SIZE"));
    }
    slot_ = static_cast<std::uint32_t*>(at);
  }
  ~block_table() { munmap(slot_, bytes_); }
  block_table(const block_table&) = delete;
  block_table& operator=(const block_table&) = delete;

  /// The slot of BLOCK; 0 at first.
  [[nodiscard]] std::uint32_t& operator[](std::size_t block) noexcept { return slot_[block]; }
  [[nodiscard]] std::uint32_t operator[](std::size_t block) const noexcept { return slot_[block]; }
  [[nodiscard]] const std::uint32_t* all() const noexcept { return slot_; }
  [[nodiscard]] std::size_t blocks() const noexcept { return bytes_ / sizeof(std::uint32_t); }

 private:
  std::size_t bytes_;
  std::uint32_t* slot_ = nullptr;
};

}  // namespace tobi::pgas
