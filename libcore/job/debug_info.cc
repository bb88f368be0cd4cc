// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/debug_info.hpp"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <ucontext.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "libcore/job/dwarf.hpp"
#include "libcore/pgas/watch.hpp"

namespace tobi::job {

namespace {
constexpr std::size_t reader_stack_bytes = 16u << 20;  // libdw keeps tables of lines there
}  // namespace

#ifdef TOBI_HAVE_DW
namespace {

constexpr int reader_patience_ms = 10'000;

// Of the process that reads. makecontext passes integers alone.
struct {
  const debug_question* about;
  debug_names* into;
  int to;
  pid_t asked_by;
} reader;

void read_and_tell() noexcept {
  unsetenv("DEBUGINFOD_URLS");  // nobody waits for a download
  read_dwarf(*reader.about, *reader.into);
  // Less than a pipe takes in one piece.
  const ssize_t ignored = write(reader.to, reader.into, sizeof *reader.into);
  _exit(ignored == sizeof *reader.into ? 0 : 1);
}

[[noreturn]] void run_reader() noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != reader.asked_by) _exit(1);  // it ended before
  void* stack = mmap(nullptr, reader_stack_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  static ucontext_t there;
  if (stack == MAP_FAILED || getcontext(&there) != 0) _exit(1);
  there.uc_stack.ss_sp = stack;
  there.uc_stack.ss_size = reader_stack_bytes;
  there.uc_link = nullptr;
  makecontext(&there, &read_and_tell, 0);
  setcontext(&there);
  _exit(1);
}

}  // namespace

void ask_debug_info(const debug_question& about, debug_names& into) noexcept {
  into = {};
  int ends[2];
  if (pipe(ends) != 0) return;
  reader = {&about, &into, ends[1], getpid()};
  const pid_t child = _Fork();  // fork() would call the program's handlers and wait for the allocator's lock
  if (child == 0) run_reader();
  close(ends[1]);
  pollfd answered{ends[0], POLLIN, 0};
  debug_names read_there;
  if (child > 0 && ::poll(&answered, 1, reader_patience_ms) == 1 &&
      read(ends[0], &read_there, sizeof read_there) == sizeof read_there) {
    into = read_there;
  }
  close(ends[0]);
  if (child <= 0) return;
  kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
}
#else
void ask_debug_info(const debug_question&, debug_names& into) noexcept { into = {}; }
namespace {
std::vector<std::string> read_lines(std::span<const std::uintptr_t> calls) {
  return std::vector<std::string>(calls.size());
}
}  // namespace
#endif

std::vector<std::string> lines_of(std::span<const std::uintptr_t> calls) {
  std::vector<std::string> lines = read_lines(calls);
  for (std::size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].empty()) lines[i] = pgas::name_of_place(calls[i]);
  }
  return lines;
}

std::string line_of(std::uintptr_t call) {
  struct {
    std::uintptr_t call;
    std::string line;
  } one{call, {}};
  const auto read = [](void* asked) -> void* {
    auto& about = *static_cast<decltype(one)*>(asked);
    about.line = lines_of({&about.call, 1})[0];
    return nullptr;
  };
  pthread_attr_t wide;
  pthread_t reader_thread;
  pthread_attr_init(&wide);
  const bool reads = pthread_attr_setstacksize(&wide, reader_stack_bytes) == 0 &&
                     pthread_create(&reader_thread, &wide, read, &one) == 0;
  pthread_attr_destroy(&wide);
  if (!reads) return pgas::name_of_place(call);
  pthread_join(reader_thread, nullptr);
  return one.line;
}

void add_closure(const debug_question& asked, const debug_names& names, base::text_line& to) noexcept {
  to << "the closure of a task";
  if (names.closure[0] != 0) to << ", made at " << std::string_view(names.closure) << ",";
  to << " holds a pointer to ";
  const std::uintptr_t behind = asked.address - asked.captured.word;
  if (behind == 0) {
    to << "it";
  } else {
    to.number(behind) << " bytes before it";
  }
  (to << " at byte ").number(asked.captured.at);
  if (names.capture[0] != 0) to << " as " << std::string_view(names.capture);
}

}  // namespace tobi::job
