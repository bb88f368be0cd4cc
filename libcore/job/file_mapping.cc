// SPDX-License-Identifier: Apache-2.0
// The file of a tobi::mapped_file.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "libcore/base/log.hpp"
#include "tobi/mapped_file.hpp"

namespace tobi::detail {

extern "C" {

const char* tobi_file_map(const char* path, std::size_t* bytes) {
  const auto refuse = [path](const std::string& why) {
    base::fatal("tobi::mapped_file cannot map " + std::string(path) + ": " + why +
                    ". The file must be there on every host, under the same name.",
                base::exit_usage);
  };
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) refuse(std::strerror(errno));
  struct stat what {};
  if (fstat(fd, &what) != 0) refuse(std::strerror(errno));
  if (!S_ISREG(what.st_mode)) refuse("it is no regular file");
  *bytes = static_cast<std::size_t>(what.st_size);
  void* const at = *bytes == 0 ? nullptr : mmap(nullptr, *bytes, PROT_READ, MAP_PRIVATE, fd, 0);
  if (at == MAP_FAILED) refuse(std::strerror(errno));
  close(fd);
  return static_cast<const char*>(at);
}
void tobi_file_unmap(const char* at, std::size_t bytes) noexcept {
  if (bytes != 0) munmap(const_cast<char*>(at), bytes);
}

}  // extern "C"

}  // namespace tobi::detail
