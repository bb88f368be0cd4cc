// SPDX-License-Identifier: Apache-2.0
// The embedded launcher: ./app is the first worker and forks the others. A process that another launcher started does
// the same for its part of the job, and speaks for its children in that launcher's exchange: what they put travels as
// one value per fence.
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <memory>
#include <utility>

#include "bootstrap/bootstrap.hpp"
#include "bootstrap/fork/death.hpp"
#include "bootstrap/fork/job_page.hpp"
#include "bootstrap/fork/lost.hpp"
#include "bootstrap/futex.hpp"
#include "libcore/base/leave.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/refusal.hpp"

namespace tobi::bootstrap {

namespace forked {

namespace {

std::uint32_t exiting_member = 0;  // which of them this process is

// At the exit of the head: as for one program, the shell gets its prompt back when all is over, and one status for all.
// At that of any member: the program's destructors come later, and must not meet a job that goes on without them.
void at_exit(int status, void* shared) noexcept {
  auto& page = *static_cast<job_page*>(shared);
  const member& self = page.members()[exiting_member];
  if (getpid() != self.pid.load(std::memory_order_relaxed)) return;  // a process that the program forked
  if (self.state.load(std::memory_order_acquire) == phase::finalized) {
    if (exiting_member != 0) return;
    const int worst = reap_finalized(status);
    if (status == 0 && worst != 0) base::leave(worst);
    return;
  }
  // main returned, or exit() was called, while others may be waiting for us. A status other than 0 explains itself.
  if (exiting_member == 0) page.head_leaves.store(1, std::memory_order_release);
  if (claim_report() && status == 0) {
    base::log(base::log_level::error,
              "the program ended before the job did (exit inside the life of tobi::runtime); the job ends.");
  }
  std::fflush(nullptr);  // what the program has said last: exit() would do so later
  end_job(status == 0 ? base::exit_failure : status);
}

// The head alone: of any other member the head sees how it ended. Which status the program has given is not known here.
job_page* page_of_head = nullptr;
void at_quick_exit_of_head() noexcept {
  const member& self = page_of_head->members()[0];
  if (getpid() != self.pid.load(std::memory_order_relaxed)) return;
  if (self.state.load(std::memory_order_acquire) == phase::finalized) return;
  page_of_head->head_leaves.store(1, std::memory_order_release);
  if (claim_report()) {
    base::log(base::log_level::error,
              "the program ended before the job did (quick_exit inside the life of tobi::runtime); the job ends.");
  }
  end_job(base::exit_failure);
}

constexpr std::string_view door_key = "door";

class fork_bootstrap final : public bootstrap {
 public:
  fork_bootstrap(job_page& page, std::shared_ptr<const plan> spread, int member, std::unique_ptr<exchange> launcher)
      : page_(page),
        put_(page.put()),
        plan_(std::move(spread)),
        spread_(*plan_),
        member_(static_cast<std::uint32_t>(member)),
        rank_(static_cast<int>(page.first) + member),
        launcher_(std::move(launcher)),
        received_(spread_.clients(), 0) {
    const int own_node = spread_.node[spread_.self];
    for (int client = 0; client < spread_.clients(); ++client) {
      for (int i = 0; i < spread_.workers(client); ++i) {
        nodes_.push_back(spread_.node[client]);
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
    put_.put(static_cast<std::uint32_t>(rank_), key, value);
  }

  [[nodiscard]] std::vector<std::byte> get(int rank, std::string_view key) override {
    std::vector<std::byte> value;
    if (put_.find(static_cast<std::uint32_t>(rank), key, value)) return value;
    // A head without children fetches what it is asked for, and when. For children it has fetched all in the fence: one
    // that asked later would find its head in a long task, or would need a thread there that speaks for it.
    if (const int client = spread_.client_of(rank); launcher_ != nullptr && client != spread_.self) {
      receive_from(client);
      if (put_.find(static_cast<std::uint32_t>(rank), key, value)) return value;
    }
    base::fatal("rank " + std::to_string(rank) + " has put nothing under the key " + std::string(key) + ".");
  }

  void fence() override { meet({}); }
  void least(std::span<std::uint64_t> words) override { meet(words); }

  [[noreturn]] void abort(int exit_status) noexcept override { end_job(exit_status); }

  void finalize() override {
    fence();
    page_.members()[member_].state.store(phase::finalized, std::memory_order_release);
    if (launcher_ != nullptr) say_finished();
    fence();
    if (launcher_ == nullptr) return;
    set_launcher(nullptr, nullptr);
    launcher_->finalize();
  }

 private:
  // Waits on WORD until it is no longer SEEN, or for a moment, and keeps the fabric moving meanwhile.
  void wait_moving(std::atomic<std::uint32_t>& word, std::uint32_t seen) {
    constexpr timespec between_looks{1, 0};
    const timespec moment = move_ ? between_moves() : between_looks;
    if (move_) move_();
    futex_wait(word, seen, move_ || looks_ != nullptr ? &moment : nullptr);
    if (looks_ != nullptr) looks_();
  }

  // A question to all has its words in the page, of which the fences of even and of odd generations have one set each:
  // when the head begins the next generation it clears the other set, which nobody can be reading, because all have
  // come to this fence and have left the one before.
  void meet(std::span<std::uint64_t> words) {
    TOBI_ASSERT(words.size() <= words_max, "a question to all has up to 8 words");
    // Acquire and release on both words: what a rank put before the fence is seen by all behind it.
    const std::uint32_t generation = page_.generation.load(std::memory_order_acquire);
    auto& asked = page_.least[generation % 2];
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::uint64_t said = asked[i].load(std::memory_order_relaxed);
      while (words[i] < said && !asked[i].compare_exchange_weak(said, words[i], std::memory_order_relaxed)) {
      }
    }
    const std::uint32_t here = page_.arrived.fetch_add(1, std::memory_order_acq_rel) + 1;
    if (member_ != 0) {
      if (here == page_.size) futex_wake_all(page_.arrived);
      while (page_.generation.load(std::memory_order_acquire) == generation) wait_moving(page_.generation, generation);
    } else {
      for (std::uint32_t n = here; n != page_.size; n = page_.arrived.load(std::memory_order_acquire)) {
        wait_moving(page_.arrived, n);
      }
      for (std::size_t i = 0; i < words.size(); ++i) words[i] = asked[i].load(std::memory_order_relaxed);
      if (launcher_ != nullptr) meet_clients(words);
      for (std::size_t i = 0; i < words.size(); ++i) asked[i].store(words[i], std::memory_order_relaxed);
      for (auto& word : page_.least[(generation + 1) % 2]) word.store(~std::uint64_t{0}, std::memory_order_relaxed);
      page_.arrived.store(0, std::memory_order_relaxed);
      page_.generation.fetch_add(1, std::memory_order_release);
      futex_wake_all(page_.generation);
    }
    for (std::size_t i = 0; i < words.size(); ++i) words[i] = asked[i].load(std::memory_order_relaxed);
  }

  // All that the members have put since the last time is one value of this client. Where they have put nothing, nobody
  // has (see exchange::put), and the fence is a fence alone.
  void meet_clients(std::span<std::uint64_t> words) {
    std::vector<std::byte> news;
    sent_.resize(page_.size, 0);
    for (std::uint32_t m = 0; m < page_.size; ++m) {
      put_.collect(page_.first + m, sent_[m], news);
      sent_[m] = put_.newest(page_.first + m);
    }
    if (!news.empty()) launcher_->put("values" + std::to_string(++deliveries_), news);
    const bool meets_hosts = !std::exchange(has_met_, true);
    if (meets_hosts) {  // all clients put a door, also those that have none to open
      const std::string door = offer_door();
      launcher_->put(door_key, std::as_bytes(std::span(door.data(), door.size())));
    }
    launcher_->while_waiting(move_);
    launcher_->share_cores(workers_per_core_);
    if (words.empty()) {
      launcher_->fence();
    } else {
      launcher_->least(words);
    }
    if (meets_hosts) join_ring(*launcher_, door_key);
    if (news.empty() || page_.size == 1) return;
    for (int client = 0; client < spread_.clients(); ++client) {
      if (client != spread_.self) receive_from(client);
    }
  }

  void receive_from(int client) {
    for (int& n = received_[client]; n < deliveries_;) {
      put_.add(launcher_->get(client, "values" + std::to_string(++n)));
    }
  }

  job_page& page_;
  values put_;
  std::shared_ptr<const plan> plan_;
  const plan& spread_;
  std::uint32_t member_;
  int rank_;
  std::unique_ptr<exchange> launcher_;  // the head's
  std::vector<int> locals_;
  std::vector<int> nodes_;
  std::vector<std::uint32_t> sent_;  // of each member: its newest value that other clients can have
  base::per_rank<int> received_;     // of each client: how many of its deliveries are in the page
  death_watch looks_ = watch_for_deaths();
  int deliveries_ = 0;
  bool has_met_ = false;  // the other clients, since the workers were forked
};

job_page& make_page(const plan& spread) {
  const auto size = static_cast<std::uint32_t>(spread.workers(spread.self));
  const auto total = static_cast<std::uint32_t>(spread.first.back());
  void* at = mmap(nullptr, job_page::bytes_for(size, total), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (at == MAP_FAILED) base::fatal(std::string("no memory for the job's shared page: ") + std::strerror(errno) + ".");
  auto* page = new (at) job_page{};
  page->size = size;
  page->first = static_cast<std::uint32_t>(spread.first[spread.self]);
  page->total = total;
  for (auto& words : page->least) {
    for (auto& word : words) word.store(~std::uint64_t{0}, std::memory_order_relaxed);
  }
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
  return fork_workers({0, {0, workers}, {0}, {base::host_name()}}, nullptr);
}

namespace {

// A worker has the thread that has forked it, and the program runs on that one alone. Where it is not main's, the
// process does not end with it as long as the library has threads.
void say_that_thread_has_ended(void* page) {
  auto& of = *static_cast<forked::job_page*>(page);
  if (of.members()[forked::exiting_member].state.load(std::memory_order_acquire) == forked::phase::finalized) return;
  base::fatal(
      "the thread that has made the tobi::runtime has ended, and in this process no other one runs the program; "
      "let that thread live as long as its runtime.");
}
void watch_thread(forked::job_page& page) {
  pthread_key_t ends;
  if (pthread_key_create(&ends, say_that_thread_has_ended) == 0) pthread_setspecific(ends, &page);
}

}  // namespace

std::unique_ptr<bootstrap> fork_workers(plan given, std::unique_ptr<exchange> launcher) {
  using namespace forked;
  const auto kept = std::make_shared<const plan>(std::move(given));
  const plan& spread = *kept;
  const int workers = spread.workers(spread.self);
  job_page& page = make_page(spread);
  page.members()[0].pid.store(getpid(), std::memory_order_relaxed);
  // This may be before main, where the runtime is a global variable.
  static const std::ios_base::Init streams_are_there;
  // Or each worker would print what is waiting.
  std::fflush(nullptr);
  for (std::ostream* buffered : {&std::cout, &std::clog}) buffered->flush();
  for (std::wostream* buffered : {&std::wcout, &std::wclog}) buffered->flush();
  block_signals(true);
  const bool by_main = gettid() == getpid();
  int member = 0;
  for (int child = 1; child < workers; ++child) {
    const pid_t pid = fork();
    if (pid < 0) {
      const int why = errno;
      watch(page, 0, spread);
      if (launcher != nullptr) set_launcher(launcher.get(), kept);
      claim_report();
      base::log(base::log_level::error, "cannot fork worker " + std::to_string(child) + " of " +
                                            std::to_string(workers) +
                                            base::refusal(why, "clone",
                                                          "lower TOBI_WORKERS, or raise the limit of processes "
                                                          "(ulimit -u)"));
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
  base::set_rank_names(
      [kept](int rank) { return "rank " + std::to_string(rank) + " on " + kept->host(kept->client_of(rank)); });
  watch(page, static_cast<std::uint32_t>(member), spread);
  if (launcher != nullptr) set_launcher(launcher.get(), kept);
  base::set_fatal_hook([](int status) { end_job(status); }, claim_report);
  exiting_member = static_cast<std::uint32_t>(member);
  if (member != 0 && !by_main) watch_thread(page);
  if (page.total > 1) on_exit(at_exit, &page);
  if (member == 0 && page.total > 1) {
    page_of_head = &page;
    std::at_quick_exit(at_quick_exit_of_head);
  }
  block_signals(false);
  return std::make_unique<fork_bootstrap>(page, kept, member, std::move(launcher));
}

}  // namespace tobi::bootstrap
