// SPDX-License-Identifier: Apache-2.0
#include "transports/soft/board.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "libcore/base/log.hpp"
#include "libcore/base/refusal.hpp"

namespace tobi::transports::soft {

memory_file::memory_file(const char* what, std::size_t bytes) {
  whole_.bytes = (bytes + 4095) / 4096 * 4096;
  whole_.fd = memfd_create("tobi-board", MFD_CLOEXEC);
  void* at = MAP_FAILED;
  if (whole_.fd >= 0 && ftruncate(whole_.fd, static_cast<off_t>(whole_.bytes)) == 0) {
    at = mmap(nullptr, whole_.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, whole_.fd, 0);
  }
  if (at == MAP_FAILED) {
    base::fatal("no memory for the " + std::string(what) + " of this worker, " + std::to_string(whole_.bytes) +
                " bytes" + base::refusal(errno, "memfd_create", "end other programs, or lower TOBI_WORKERS"));
  }
  whole_.base = at;
}

memory_file::~memory_file() {
  munmap(whole_.base, whole_.bytes);
  close(whole_.fd);
}

board::board(transport& over, std::size_t bytes, const key_list& keys, std::size_t ranks)
    : over_(over), keys_(keys), file_("message slots", bytes), places_(ranks) {
  if (over_.register_memory(file_.whole(), key_) != status::ok) {
    base::fatal("the message slots of this worker could not be registered with " + std::string(over_.name()) + ".");
  }
}

board::~board() { over_.deregister_memory(key_); }

status board::write(int rank, std::uint64_t offset, const void* cell, std::size_t bytes, announced as) noexcept {
  place& p = places_.of(rank);
  if (!p.attached) [[unlikely]] {
    const status s = over_.attach(rank, keys_.of(static_cast<std::size_t>(rank)), p.region);
    if (s != status::ok) return s;
    p.attached = true;
  }
  const op put = op::put(p.region, offset, cell, bytes);
  if (!announces_ || as == announced::quiet) return over_.post(rank, {&put, 1});
  return over_.put_notify(rank, put, static_cast<std::uint64_t>(as));
}

}  // namespace tobi::transports::soft
