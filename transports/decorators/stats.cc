// SPDX-License-Identifier: Apache-2.0
// stats: counts, bytes and times by kind of operation; one line per rank on standard error when the transport goes.
//
// The time of an operation is from its post to the first flush of that peer that returns ok: what a caller that waits
// sees. An operation that nobody waits for counts with the flush that came at last.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <vector>

#include "arch/clock.hpp"
#include "libcore/base/per_rank.hpp"
#include "libcore/base/plain_text.hpp"
#include "transports/decorators/decorator.hpp"

namespace tobi::transports::decorators {

namespace {

constexpr std::array<const char*, 5> kind_names{"put", "get", "fetch_add", "compare_swap", "put_notify"};
constexpr std::size_t notify_kind = 4;

class stats final : public decorator {
 public:
  stats(std::unique_ptr<transport> inner, const context& where)
      : decorator(std::move(inner)), rank_(where.rank), pending_(where.size) {}

  ~stats() override {
    std::string line = "tobi: rank " + std::to_string(rank_) + " " + std::string(name()) + " stats:";
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const kind_sums& one = kinds_[k];
      if (one.count == 0) continue;
      const double us =
          one.completed == 0 ? 0 : static_cast<double>(one.waited_ns) / static_cast<double>(one.completed) / 1e3;
      line += std::string(" ") + kind_names[k] + " " + std::to_string(one.count) + " (" + std::to_string(one.bytes) +
              " bytes, " + base::fixed(us, 2) + " us)";
    }
    line += " chains " + std::to_string(chains_) + " again " + std::to_string(again_) + " flushes " +
            std::to_string(flushes_) + "\n";
    (void)!write(STDERR_FILENO, line.data(), line.size());  // in one piece, as all lines of several workers
  }

  status put_notify(int rank, const op& put, std::uint64_t data) noexcept override {
    const std::uint64_t now = arch::now_ns();
    const status s = inner().put_notify(rank, put, data);
    if (s == status::again) ++again_;
    if (s == status::ok) posted(rank, notify_kind, put.bytes, now);
    return s;
  }
  status flush(int rank) noexcept override {
    const status s = inner().flush(rank);
    if (s != status::ok) return s;
    ++flushes_;
    const std::uint64_t now = arch::now_ns();
    auto& open = pending_[rank];
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      kinds_[k].completed += open[k].count;
      kinds_[k].waited_ns += open[k].count * now - open[k].begin_ns;
      open[k] = {};
    }
    return s;
  }

 protected:
  status post_as(int rank, std::span<const op> ops, bool in_order) noexcept override {
    const std::uint64_t now = arch::now_ns();
    const status s = decorator::post_as(rank, ops, in_order);
    if (s == status::again) ++again_;
    if (s != status::ok) return s;
    ++chains_;
    for (const op& o : ops) posted(rank, static_cast<std::size_t>(o.kind), o.bytes, now);
    return s;
  }

 private:
  struct kind_sums {
    std::uint64_t count = 0;
    std::uint64_t bytes = 0;
    std::uint64_t completed = 0;
    std::uint64_t waited_ns = 0;
  };
  struct open_sums {  // of what was posted to a peer since its last flush
    std::uint64_t count = 0;
    std::uint64_t begin_ns = 0;  // the sum; it may wrap around, and the difference is right all the same
  };

  void posted(int rank, std::size_t kind, std::uint64_t bytes, std::uint64_t now) noexcept {
    const bool atomic =
        kind == static_cast<std::size_t>(op_kind::fetch_add) || kind == static_cast<std::size_t>(op_kind::compare_swap);
    ++kinds_[kind].count;
    kinds_[kind].bytes += atomic ? 8 : bytes;
    open_sums& open = pending_[rank][kind];
    ++open.count;
    open.begin_ns += now;
  }

  int rank_;
  std::array<kind_sums, 5> kinds_{};
  base::per_rank<std::array<open_sums, 5>> pending_;
  std::uint64_t chains_ = 0;
  std::uint64_t again_ = 0;
  std::uint64_t flushes_ = 0;
};

}  // namespace

std::unique_ptr<transport> make_stats(std::unique_ptr<transport> inner, const context& where) {
  return std::make_unique<stats>(std::move(inner), where);
}

}  // namespace tobi::transports::decorators
