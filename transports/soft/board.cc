#include "transports/soft/board.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <string>

#include "libcore/base/log.hpp"

namespace tobi::transports::soft {

board::board(transport& over, std::size_t bytes) : over_(over), bytes_((bytes + 4095) / 4096 * 4096) {
  fd_ = memfd_create("tobi-board", MFD_CLOEXEC);
  void* at = MAP_FAILED;
  if (fd_ >= 0 && ftruncate(fd_, static_cast<off_t>(bytes_)) == 0) {
    at = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  }
  if (at == MAP_FAILED)
    base::fatal("no memory for the message slots of this worker (" + std::to_string(bytes_) + " bytes).");
  base_ = static_cast<std::byte*>(at);
  if (over_.register_memory({base_, bytes_, fd_, 0}, key_) != status::ok) {
    base::fatal("the message slots of this worker could not be registered with " + std::string(over_.name()) + ".");
  }
}

board::~board() {
  over_.deregister_memory(key_);
  munmap(base_, bytes_);
  close(fd_);
}

}  // namespace tobi::transports::soft
