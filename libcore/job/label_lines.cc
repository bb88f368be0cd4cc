// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/label_lines.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstddef>
#include <cstring>

namespace tobi::job {

namespace {

// What a pipe takes in one piece. To a file, one write is one piece too.
constexpr std::size_t piece = PIPE_BUF;

class labelled {
 public:
  labelled(const labelled_stream& where, std::string_view label) noexcept
      : from_(where.from), to_(where.to), label_(label) {}

  [[nodiscard]] int from() const noexcept { return from_; }
  [[nodiscard]] bool lost() const noexcept { return lost_; }

  // What there is to read now. Afterwards from() is negative where there will be no more.
  void pass_on() noexcept {
    const ssize_t n = read(from_, held_ + used_, sizeof held_ - used_);
    if (n < 0 && errno == EINTR) return;
    if (n <= 0) {
      if (used_ != 0 || in_a_line_) add_line(used_, true);
      flush();
      return end();
    }
    used_ += static_cast<std::size_t>(n);
    std::size_t at = 0;
    for (;;) {
      const void* const end_of_line = std::memchr(held_ + at, '\n', used_ - at);
      if (end_of_line == nullptr) break;
      const std::size_t bytes = static_cast<std::size_t>(static_cast<const char*>(end_of_line) - (held_ + at));
      first_ = at;
      add_line(bytes, true);
      at += bytes + 1;
    }
    first_ = 0;
    used_ -= at;
    std::memmove(held_, held_ + at, used_);
    if (used_ == sizeof held_) {  // a line that is longer than all of this
      add_line(used_, false);
      used_ = 0;
    }
    flush();
  }

 private:
  void add_line(std::size_t bytes, bool whole) noexcept {
    const std::size_t before = in_a_line_ ? 0 : label_.size();
    if (out_used_ + before + bytes + 1 > sizeof out_) flush();
    if (before + bytes + 1 <= sizeof out_) {
      std::memcpy(out_ + out_used_, label_.data(), before);
      std::memcpy(out_ + out_used_ + before, held_ + first_, bytes);
      out_used_ += before + bytes;
      if (whole) out_[out_used_++] = '\n';
    } else {
      write_all(label_.data(), before);
      write_all(held_ + first_, bytes);
      if (whole) write_all("\n", 1);
    }
    in_a_line_ = !whole;
  }
  void flush() noexcept {
    write_all(out_, out_used_);
    out_used_ = 0;
  }
  // Where nobody reads any more the rank is told as it would have been: by SIGPIPE.
  void write_all(const char* from, std::size_t bytes) noexcept {
    while (bytes != 0 && from_ >= 0) {
      const ssize_t n = write(to_, from, bytes);
      if (n >= 0) {
        from += n;
        bytes -= static_cast<std::size_t>(n);
      } else if (errno == EAGAIN) {
        pollfd room{to_, POLLOUT, 0};
        poll(&room, 1, -1);
      } else if (errno != EINTR) {
        lost_ = errno != EPIPE;
        end();
      }
    }
  }
  void end() noexcept {
    if (from_ >= 0) close(from_);
    from_ = -1;
  }

  int from_;
  int to_;
  std::string_view label_;
  bool lost_ = false;
  bool in_a_line_ = false;  // whose beginning is written
  std::size_t first_ = 0;   // of held_, where the line begins
  std::size_t used_ = 0;
  std::size_t out_used_ = 0;
  char held_[4 * piece];
  char out_[piece];
};

// What the rank has open is not to live longer because of this process: others see by it that the rank is gone.
void close_all_but(std::span<int> kept) noexcept {
  std::sort(kept.begin(), kept.end());
  unsigned from = 0;
  for (const int fd : kept) {
    if (fd < 0) continue;
    const auto to = static_cast<unsigned>(fd);
    if (to > from && syscall(SYS_close_range, from, to - 1, 0) != 0) {
      for (unsigned each = from; each < to; ++each) close(static_cast<int>(each));
    }
    from = to + 1;
  }
  if (syscall(SYS_close_range, from, ~0u, 0) == 0) return;
  constexpr int most = 65536;  // Linux before 5.9
  for (int each = static_cast<int>(from); each < most; ++each) close(each);
}

}  // namespace

void label_lines(std::string_view label, std::span<const labelled_stream, 2> streams) noexcept {
  // Ctrl-C ends the ranks, and they may have something to say about it. Their handlers are not for this process.
  for (int s = 1; s < NSIG; ++s)
    signal(s, s == SIGINT || s == SIGTERM || s == SIGHUP || s == SIGQUIT || s == SIGPIPE ? SIG_IGN : SIG_DFL);
  prctl(PR_SET_NAME, "tobi-label");
  std::array<int, 4> kept{streams[0].from, streams[0].to, streams[1].from, streams[1].to};
  close_all_but(kept);
  labelled both[]{{streams[0], label}, {streams[1], label}};
  while (both[0].from() >= 0 || both[1].from() >= 0) {
    pollfd ready[]{{both[0].from(), POLLIN, 0}, {both[1].from(), POLLIN, 0}};
    poll(ready, std::size(ready), -1);
    for (std::size_t i = 0; i < std::size(ready); ++i) {
      if (ready[i].revents != 0) both[i].pass_on();
    }
  }
  _exit(both[0].lost() || both[1].lost() ? 1 : 0);
}

}  // namespace tobi::job
