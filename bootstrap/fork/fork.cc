// The embedded launcher: ./app is the first worker and forks the others.
#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/fork/death.hpp"
#include "bootstrap/fork/job_page.hpp"
#include "libcore/base/log.hpp"

namespace tobi::bootstrap {

namespace forked {

namespace {

void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t seen, const timespec* at_most) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT, seen, at_most, nullptr, 0);
}
void futex_wake_all(std::atomic<std::uint32_t>& word) noexcept {
  syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

// At the exit of rank 0: as for one program, the shell gets its prompt back when all is over, and one status for all.
void at_exit(int status, void* shared) noexcept {
  auto& page = *static_cast<job_page*>(shared);
  if (getpid() != page.members()[0].pid.load(std::memory_order_relaxed)) return;  // a process that the program forked
  if (page.members()[0].state.load(std::memory_order_acquire) == phase::finalized) {
    const int worst = reap_finalized();
    if (status == 0 && worst != 0) _exit(worst);
    return;
  }
  // main returned, or exit() was called, while others may be waiting for us. A status other than 0 explains itself.
  page.rank0_leaves.store(1, std::memory_order_release);
  if (page.claim_report() && status == 0) {
    base::log(base::log_level::error,
              "the program ended before the job did (exit inside the life of tobi::runtime); the job ends.");
  }
  kill_children();
  if (status == 0) _exit(1);
}

class fork_bootstrap final : public bootstrap {
 public:
  fork_bootstrap(job_page& page, int rank) : page_(page), rank_(rank), locals_(page.size) {
    for (std::size_t i = 0; i < locals_.size(); ++i) locals_[i] = static_cast<int>(i);
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "fork"; }
  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return static_cast<int>(page_.size); }
  [[nodiscard]] std::span<const int> local_peers() const noexcept override { return locals_; }

  // A rank's values lie one behind the other: length of the key, of the value, key, value.
  void put(std::string_view key, std::span<const std::byte> value) override {
    member& me = page_.members()[rank_];
    const std::uint32_t used = me.put_bytes.load(std::memory_order_relaxed);
    const std::size_t need = sizeof(entry) + key.size() + value.size();
    if (used + need > values_bytes) base::fatal("the bootstrap's store is full: more than 16K of values on one rank.");
    std::byte* at = page_.values(static_cast<std::uint32_t>(rank_)) + used;
    const entry head{static_cast<std::uint32_t>(key.size()), static_cast<std::uint32_t>(value.size())};
    std::memcpy(at, &head, sizeof head);
    std::memcpy(at + sizeof head, key.data(), key.size());
    if (!value.empty()) std::memcpy(at + sizeof head + key.size(), value.data(), value.size());
    me.put_bytes.store(used + static_cast<std::uint32_t>(need), std::memory_order_release);
  }

  [[nodiscard]] std::vector<std::byte> get(int rank, std::string_view key) override {
    const std::uint32_t used = page_.members()[rank].put_bytes.load(std::memory_order_acquire);
    const std::byte* at = page_.values(static_cast<std::uint32_t>(rank));
    for (const std::byte* end = at + used; at < end;) {
      entry head;
      std::memcpy(&head, at, sizeof head);
      const auto* name = reinterpret_cast<const char*>(at + sizeof head);
      const std::byte* value = at + sizeof head + head.key_bytes;
      if (std::string_view(name, head.key_bytes) == key) return {value, value + head.value_bytes};
      at = value + head.value_bytes;
    }
    base::fatal("rank " + std::to_string(rank) + " has put nothing under the key " + std::string(key) + ".");
  }

  void fence() override {
    // Acquire and release on both words: what a rank put before the fence is seen by all behind it.
    const std::uint32_t generation = page_.generation.load(std::memory_order_acquire);
    if (page_.arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == page_.size) {
      page_.arrived.store(0, std::memory_order_relaxed);
      page_.generation.fetch_add(1, std::memory_order_release);
      futex_wake_all(page_.generation);
      return;
    }
    constexpr timespec between_moves{0, 50'000};
    while (page_.generation.load(std::memory_order_acquire) == generation) {
      if (move_) move_();
      futex_wait(page_.generation, generation, move_ ? &between_moves : nullptr);
    }
  }

  [[noreturn]] void abort(int exit_status) noexcept override { end_job(exit_status); }

  void finalize() override {
    fence();
    page_.members()[rank_].state.store(phase::finalized, std::memory_order_release);
    fence();
  }

 private:
  struct entry {
    std::uint32_t key_bytes;
    std::uint32_t value_bytes;
  };
  job_page& page_;
  int rank_;
  std::vector<int> locals_;
};

job_page& make_page(std::uint32_t size) {
  void* at = mmap(nullptr, job_page::bytes_for(size), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (at == MAP_FAILED) base::fatal(std::string("no memory for the job's shared page: ") + std::strerror(errno) + ".");
  auto* page = new (at) job_page{};
  page->size = size;
  return *page;
}

// As for one program, the keyboard belongs to one process.
void forget_input() noexcept {
  const int null = open("/dev/null", O_RDONLY);
  if (null < 0) return;
  dup2(null, STDIN_FILENO);
  if (null != STDIN_FILENO) close(null);
}

}  // namespace

}  // namespace forked

std::unique_ptr<bootstrap> fork_workers(int workers) {
  using namespace forked;
  job_page& page = make_page(static_cast<std::uint32_t>(workers));
  page.members()[0].pid.store(getpid(), std::memory_order_relaxed);
  std::fflush(nullptr);  // or each worker would print what is waiting
  block_signals(true);
  int rank = 0;
  for (int child = 1; child < workers; ++child) {
    const pid_t pid = fork();
    if (pid < 0) {
      const int why = errno;
      watch(page, 0);
      page.claim_report();
      base::log(base::log_level::error, "cannot fork worker " + std::to_string(child) + " of " +
                                            std::to_string(workers) + " (" + std::strerror(why) +
                                            "); lower TOBI_WORKERS or raise the limit of processes (ulimit -u).");
      end_job(base::exit_failure);
    }
    if (pid == 0) {
      rank = child;
      forget_input();
      break;
    }
    page.members()[child].pid.store(pid, std::memory_order_release);
  }
  base::set_log_identity(rank);
  watch(page, static_cast<std::uint32_t>(rank));
  base::set_fatal_hook([](int status) { end_job(status); });
  if (rank == 0 && workers > 1) on_exit(at_exit, &page);
  block_signals(false);
  return std::make_unique<fork_bootstrap>(page, rank);
}

}  // namespace tobi::bootstrap
