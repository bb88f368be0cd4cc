// The embedded launcher: ./app is the first worker and forks the others. A process that another launcher started does
// the same for its part of the job, and speaks for its children in that launcher's exchange: what they put travels as
// one value a fence.
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
#include <utility>

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

// At the exit of the head: as for one program, the shell gets its prompt back when all is over, and one status for all.
void at_exit(int status, void* shared) noexcept {
  auto& page = *static_cast<job_page*>(shared);
  if (getpid() != page.members()[0].pid.load(std::memory_order_relaxed)) return;  // a process that the program forked
  if (page.members()[0].state.load(std::memory_order_acquire) == phase::finalized) {
    const int worst = reap_finalized();
    if (status == 0 && worst != 0) _exit(worst);
    return;
  }
  // main returned, or exit() was called, while others may be waiting for us. A status other than 0 explains itself.
  page.head_leaves.store(1, std::memory_order_release);
  if (claim_report() && status == 0) {
    base::log(base::log_level::error,
              "the program ended before the job did (exit inside the life of tobi::runtime); the job ends.");
  }
  end_job(status == 0 ? 1 : status);
}

struct entry {
  std::uint32_t key_bytes;
  std::uint32_t value_bytes;
};

// A rank's part of what travels between clients; as many bytes of its store follow.
struct parcel {
  std::uint32_t rank;
  std::uint32_t bytes;
};

class fork_bootstrap final : public bootstrap {
 public:
  fork_bootstrap(job_page& page, plan spread, int member, std::unique_ptr<exchange> launcher)
      : page_(page),
        spread_(std::move(spread)),
        member_(static_cast<std::uint32_t>(member)),
        rank_(static_cast<int>(page.first) + member),
        launcher_(std::move(launcher)),
        received_(static_cast<std::size_t>(spread_.clients()), 0) {
    const int own_node = spread_.node[static_cast<std::size_t>(spread_.self)];
    for (int client = 0; client < spread_.clients(); ++client) {
      for (int i = 0; i < spread_.workers(client); ++i) {
        nodes_.push_back(spread_.node[static_cast<std::size_t>(client)]);
        if (nodes_.back() == own_node) locals_.push_back(static_cast<int>(nodes_.size()) - 1);
      }
    }
  }

  [[nodiscard]] std::string_view name() const noexcept override {
    return launcher_ != nullptr ? launcher_->name() : "fork";
  }
  [[nodiscard]] int rank() const noexcept override { return rank_; }
  [[nodiscard]] int size() const noexcept override { return static_cast<int>(page_.total); }
  [[nodiscard]] std::span<const int> local_peers() const noexcept override { return locals_; }
  [[nodiscard]] std::span<const int> nodes() const noexcept override { return nodes_; }

  void put(std::string_view key, std::span<const std::byte> value) override {
    store& mine = *page_.values(static_cast<std::uint32_t>(rank_));
    const std::uint32_t used = mine.used.load(std::memory_order_relaxed);
    const std::size_t need = sizeof(entry) + key.size() + value.size();
    if (used + need > sizeof mine.bytes)
      base::fatal("the bootstrap's store is full: more than 16K of values on one rank.");
    std::byte* at = mine.bytes + used;
    const entry head{static_cast<std::uint32_t>(key.size()), static_cast<std::uint32_t>(value.size())};
    std::memcpy(at, &head, sizeof head);
    std::memcpy(at + sizeof head, key.data(), key.size());
    if (!value.empty()) std::memcpy(at + sizeof head + key.size(), value.data(), value.size());
    mine.used.store(used + static_cast<std::uint32_t>(need), std::memory_order_release);
  }

  [[nodiscard]] std::vector<std::byte> get(int rank, std::string_view key) override {
    std::vector<std::byte> value;
    if (find(rank, key, value)) return value;
    // A head without children fetches what it is asked for; one with children has fetched all for them in the fence.
    if (const int client = spread_.client_of(rank); launcher_ != nullptr && client != spread_.self) {
      receive_from(client);
      if (find(rank, key, value)) return value;
    }
    base::fatal("rank " + std::to_string(rank) + " has put nothing under the key " + std::string(key) + ".");
  }

  void fence() override {
    // Acquire and release on both words: what a rank put before the fence is seen by all behind it.
    const std::uint32_t generation = page_.generation.load(std::memory_order_acquire);
    const std::uint32_t here = page_.arrived.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (member_ != 0) {
      if (here == page_.size) futex_wake_all(page_.arrived);
      while (page_.generation.load(std::memory_order_acquire) == generation) wait_moving(page_.generation, generation);
      return;
    }
    for (std::uint32_t n = here; n != page_.size; n = page_.arrived.load(std::memory_order_acquire)) {
      wait_moving(page_.arrived, n);
    }
    if (launcher_ != nullptr) fence_between_clients();
    page_.arrived.store(0, std::memory_order_relaxed);
    page_.generation.fetch_add(1, std::memory_order_release);
    futex_wake_all(page_.generation);
  }

  [[noreturn]] void abort(int exit_status) noexcept override { end_job(exit_status); }

  void finalize() override {
    fence();
    page_.members()[member_].state.store(phase::finalized, std::memory_order_release);
    if (member_ == 0) say_finished();
    fence();
    if (launcher_ == nullptr) return;
    set_launcher(nullptr, spread_);
    launcher_->finalize();
  }

 private:
  // Waits on WORD until it is no longer SEEN, or for a moment, and keeps the fabric moving meanwhile.
  void wait_moving(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
    constexpr timespec between_moves{0, 50'000};
    if (move_) move_();
    futex_wait(word, seen, move_ ? &between_moves : nullptr);
  }

  bool find(int rank, std::string_view key, std::vector<std::byte>& into) {
    const store& theirs = *page_.values(static_cast<std::uint32_t>(rank));
    const std::byte* at = theirs.bytes;
    for (const std::byte* end = at + theirs.used.load(std::memory_order_acquire); at < end;) {
      entry head;
      std::memcpy(&head, at, sizeof head);
      const auto* name = reinterpret_cast<const char*>(at + sizeof head);
      const std::byte* value = at + sizeof head + head.key_bytes;
      at = value + head.value_bytes;
      if (std::string_view(name, head.key_bytes) != key) continue;
      into.assign(value, at);
      return true;
    }
    return false;
  }

  // All that the members have put since the last time is one value of this client. Where they have put nothing, nobody
  // has (see exchange::put), and the fence is a fence alone.
  void fence_between_clients() {
    std::vector<std::byte> news;
    sent_.resize(page_.size, 0);
    for (std::uint32_t m = 0; m < page_.size; ++m) {
      const store& values = *page_.values(page_.first + m);
      const std::uint32_t used = values.used.load(std::memory_order_acquire);
      const parcel head{page_.first + m, used - sent_[m]};
      if (head.bytes == 0) continue;
      const auto* start = reinterpret_cast<const std::byte*>(&head);
      news.insert(news.end(), start, start + sizeof head);
      news.insert(news.end(), values.bytes + sent_[m], values.bytes + used);
      sent_[m] = used;
    }
    if (!news.empty()) launcher_->put("values" + std::to_string(++deliveries_), news);
    launcher_->fence();
    if (news.empty() || page_.size == 1) return;
    for (int client = 0; client < spread_.clients(); ++client) {
      if (client != spread_.self) receive_from(client);
    }
  }

  void receive_from(int client) {
    for (int& n = received_[static_cast<std::size_t>(client)]; n < deliveries_;) {
      const std::vector<std::byte> news = launcher_->get(client, "values" + std::to_string(++n));
      for (std::size_t at = 0; at < news.size();) {
        parcel head;
        std::memcpy(&head, news.data() + at, sizeof head);
        at += sizeof head;
        store& values = *page_.values(head.rank);
        const std::uint32_t used = values.used.load(std::memory_order_relaxed);
        std::memcpy(values.bytes + used, news.data() + at, head.bytes);
        values.used.store(used + head.bytes, std::memory_order_release);
        at += head.bytes;
      }
    }
  }

  job_page& page_;
  plan spread_;
  std::uint32_t member_;
  int rank_;
  std::unique_ptr<exchange> launcher_;  // the head's
  std::vector<int> locals_;
  std::vector<int> nodes_;
  std::vector<std::uint32_t> sent_;  // of each member: bytes of its store that other clients can have
  std::vector<int> received_;        // of each client: how many of its deliveries are in the page
  int deliveries_ = 0;
};

job_page& make_page(const plan& spread) {
  const auto size = static_cast<std::uint32_t>(spread.workers(spread.self));
  const auto total = static_cast<std::uint32_t>(spread.first.back());
  void* at = mmap(nullptr, job_page::bytes_for(size, total), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) base::fatal(std::string("no memory for the job's shared page: ") + std::strerror(errno) + ".");
  auto* page = new (at) job_page{};
  page->size = size;
  page->first = static_cast<std::uint32_t>(spread.first[static_cast<std::size_t>(spread.self)]);
  page->total = total;
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

int plan::client_of(int rank) const noexcept {
  return static_cast<int>(std::upper_bound(first.begin(), first.end(), rank) - first.begin()) - 1;
}

std::unique_ptr<bootstrap> fork_workers(int workers) {
  return fork_workers({0, {0, workers}, {0}, {"this host"}}, nullptr);
}

std::unique_ptr<bootstrap> fork_workers(plan spread, std::unique_ptr<exchange> launcher) {
  using namespace forked;
  const int workers = spread.workers(spread.self);
  job_page& page = make_page(spread);
  page.members()[0].pid.store(getpid(), std::memory_order_relaxed);
  std::fflush(nullptr);  // or each worker would print what is waiting
  block_signals(true);
  int member = 0;
  for (int child = 1; child < workers; ++child) {
    const pid_t pid = fork();
    if (pid < 0) {
      const int why = errno;
      watch(page, 0, spread);
      if (launcher != nullptr) set_launcher(launcher.get(), spread);
      claim_report();
      base::log(base::log_level::error, "cannot fork worker " + std::to_string(child) + " of " +
                                            std::to_string(workers) + " (" + std::strerror(why) +
                                            "); lower TOBI_WORKERS or raise the limit of processes (ulimit -u).");
      end_job(base::exit_failure);
    }
    if (pid == 0) {
      member = child;
      forget_input();
      (void)launcher.release();  // it is the head's: this process has none of its threads
      break;
    }
    page.members()[child].pid.store(pid, std::memory_order_release);
  }
  base::set_log_identity(static_cast<int>(page.first) + member);
  watch(page, static_cast<std::uint32_t>(member), spread);
  if (launcher != nullptr) set_launcher(launcher.get(), spread);
  base::set_fatal_hook([](int status) { end_job(status); }, claim_report);
  if (member == 0 && page.total > 1) on_exit(at_exit, &page);
  block_signals(false);
  return std::make_unique<fork_bootstrap>(page, std::move(spread), member, std::move(launcher));
}

}  // namespace tobi::bootstrap
