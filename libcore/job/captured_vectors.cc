// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/captured_vectors.hpp"

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "libcore/pgas/memory.hpp"

namespace tobi::job {

namespace {

constexpr std::size_t most_captures = 64;    // words of a closure
constexpr std::size_t window = 8;            // bytes
constexpr std::size_t most_windows = 64;     // of a vector
constexpr std::size_t most_whole = 1 << 26;  // bytes of a vector of which all are kept

// Into TO, what lies at FROM. False: some of it cannot be read.
bool copy(std::span<const iovec> from, std::byte* to, std::size_t bytes) noexcept {
  const iovec into{to, bytes};
  return process_vm_readv(getpid(), &into, 1, from.data(), from.size(), 0) == static_cast<ssize_t>(bytes);
}
template <class T>
bool copy(std::uintptr_t at, T& to) noexcept {
  const iovec from{reinterpret_cast<void*>(at), sizeof to};
  return copy({&from, 1}, reinterpret_cast<std::byte*>(&to), sizeof to);
}

}  // namespace

bool captured_vectors::can_look() noexcept {
  const std::uintptr_t here = 1;
  std::uintptr_t there = 0;
  return copy(reinterpret_cast<std::uintptr_t>(&here), there);
}

void captured_vectors::keep(const void* root, std::span<const std::byte> closure, const pgas::memory& global,
                            bool whole) {
  all_.clear();
  windows_.clear();
  if (told_ || closure.empty()) return;
  if (++runs_[root] > first_runs && !whole) return;
  const std::size_t captures = std::min(closure.size() / sizeof(std::uintptr_t), most_captures);
  for (std::size_t i = 0; i < captures; ++i) {
    std::uintptr_t at = 0;
    std::memcpy(&at, closure.data() + i * sizeof at, sizeof at);
    pointers p;
    if (at < first_page || at % alignof(void*) != 0 || global.holds(reinterpret_cast<const void*>(at))) continue;
    if (!copy(at, p) || p[0] < first_page || p[0] >= p[1] || p[1] > p[2]) continue;
    // An object of a class with virtual functions begins with an address of its module.
    const void* first = reinterpret_cast<const void*>(p[0]);
    Dl_info module;
    if (!global.holds(first) && dladdr(first, &module) == 0) add(at, p, whole);
  }
}

void captured_vectors::add(std::uintptr_t at, const pointers& words, bool whole) {
  const std::size_t bytes = words[1] - words[0];
  whole = whole && bytes <= most_whole;
  const std::size_t before = windows_.size();
  const std::size_t offset = all_.empty() ? 0 : kept_.size();
  std::size_t kept = 0;
  const auto take = [&](std::size_t from, std::size_t n) {
    windows_.push_back({reinterpret_cast<void*>(words[0] + from), n});
    kept += n;
  };
  if (whole || bytes <= window) {
    take(0, bytes);
  } else {
    // From the first bytes to the last ones; all of a short vector.
    const std::size_t n = std::min((bytes + window - 1) / window, most_windows);
    for (std::size_t i = 0; i < n; ++i) take(i * (bytes - window) / (n - 1), window);
  }
  kept_.resize(offset + kept);
  if (copy({windows_.data() + before, windows_.size() - before}, kept_.data() + offset, kept)) {
    all_.push_back({at, words, windows_.size() - before, kept});
  } else {
    windows_.resize(before);
    kept_.resize(offset);
  }
}

std::size_t captured_vectors::changed() {
  const iovec* from = windows_.data();
  const std::byte* was = kept_.data();
  for (const captured& c : all_) {
    pointers words;
    now_.resize(c.bytes);
    // A vector that has other pointers has been assigned to, and its elements may be gone.
    const bool reads = copy(c.at, words) && words == c.words && copy({from, c.windows}, now_.data(), c.bytes);
    if (reads && std::memcmp(now_.data(), was, c.bytes) != 0) {
      told_ = true;
      return c.words[1] - c.words[0];
    }
    from += c.windows;
    was += c.bytes;
  }
  return 0;
}

}  // namespace tobi::job
