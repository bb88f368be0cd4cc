// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "libcore/base/log.hpp"

namespace tobi::job {

namespace {

std::string part_of(const std::string& file) { return file + ".part"; }

// A file of our own: in a folder like /tmp the name may be a link that another user has put there. What a killed job
// has left is removed first.
int open_new(const std::string& part) {
  unlink(part.c_str());
  return open(part.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
}

[[noreturn]] void cannot_write(const char* setting, const std::string& file, int status) {
  base::fatal(
      std::string(setting) + "=" + file + " cannot be written (" + std::strerror(errno) + "); name another file.",
      status);
}

}  // namespace

void whole_file::check(const char* setting, const std::string& file) {
  struct stat there {};
  if (stat(file.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) {
    base::fatal(std::string(setting) + "=" + file + " is not a regular file; name another file.", base::exit_usage);
  }
  const std::string part = part_of(file);
  const int fd = open_new(part);
  if (fd < 0) cannot_write(setting, file, base::exit_usage);
  close(fd);
  unlink(part.c_str());
}

whole_file::whole_file(const char* setting, std::string file) : setting_(setting), file_(std::move(file)) {
  const int fd = open_new(part_of(file_));
  out_ = fd < 0 ? nullptr : fdopen(fd, "w");
  if (out_ == nullptr) cannot_write(setting_, file_, base::exit_failure);
}

whole_file::~whole_file() {
  if (out_ == nullptr) return;
  std::fclose(out_);
  unlink(part_of(file_).c_str());
}

void whole_file::fail() {
  const int why = errno;
  unlink(part_of(file_).c_str());
  errno = why;
  cannot_write(setting_, file_, base::exit_failure);
}

void whole_file::write(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), out_) != text.size()) fail();
}

void whole_file::finish() {
  const bool whole = std::fclose(std::exchange(out_, nullptr)) == 0;
  if (!whole || std::rename(part_of(file_).c_str(), file_.c_str()) != 0) fail();
}

}  // namespace tobi::job
