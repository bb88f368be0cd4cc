// SPDX-License-Identifier: Apache-2.0
// trace: a file tobi-trace.RANK.HOST.txt, a line for each chain posted and for each flush that ended: nanoseconds since
// the transport was made, what, the peer, the answer. A post or flush that returns `again` is written once, with how
// often.
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"
#include "transports/decorators/decorator.hpp"

namespace tobi::transports::decorators {

namespace {

class trace final : public decorator {
 public:
  trace(std::unique_ptr<transport> inner, const context& where) : decorator(std::move(inner)), begin_(arch::now_ns()) {
    const std::string path = "tobi-trace." + std::to_string(where.rank) + "." + base::host_name() + ".txt";
    file_ = std::fopen(path.c_str(), "w");
    if (file_ == nullptr) {
      base::fatal("cannot write the trace " + path + " (" + std::strerror(errno) +
                  "); run where files can be written, or take trace out of TOBI_WRAP.");
    }
    // A process that is killed leaves whole lines.
    std::setvbuf(file_, nullptr, _IOLBF, 1 << 16);
  }
  ~trace() override { std::fclose(file_); }

  status put_notify(int rank, const op& put, std::uint64_t data) noexcept override {
    const status s = inner().put_notify(rank, put, data);
    if (s == status::again) {
      ++refused_;
      return s;
    }
    begin_line("put_notify", rank, s, refused_);
    std::fprintf(file_, " %u+%#llx %llu data %#llx\n", put.region, as_printed(put.remote), as_printed(put.bytes),
                 as_printed(data));
    return s;
  }
  status flush(int rank) noexcept override {
    const status s = inner().flush(rank);
    if (s == status::again) {
      ++waited_;
      return s;
    }
    begin_line("flush", rank, s, waited_);
    std::fputc('\n', file_);
    return s;
  }

 protected:
  status post_as(int rank, std::span<const op> ops, bool in_order) noexcept override {
    const status s = decorator::post_as(rank, ops, in_order);
    if (s == status::again) {
      ++refused_;
      return s;
    }
    begin_line(in_order ? "post" : "post_unordered", rank, s, refused_);
    for (const op& o : ops) {
      constexpr std::array<const char*, 4> names{"put", "get", "fetch_add", "compare_swap"};
      std::fprintf(file_, " %s%s %u+%#llx", names[static_cast<std::size_t>(o.kind)], o.guard ? "?" : "", o.region,
                   as_printed(o.remote));
      if (o.kind == op_kind::put || o.kind == op_kind::get) std::fprintf(file_, " %llu", as_printed(o.bytes));
      if (o.kind == op_kind::compare_swap) std::fprintf(file_, " %#llx", as_printed(o.expected));
      if (o.kind == op_kind::compare_swap || o.kind == op_kind::fetch_add) {
        std::fprintf(file_, " %#llx", as_printed(o.operand));
      }
    }
    std::fputc('\n', file_);
    return s;
  }

 private:
  static unsigned long long as_printed(std::uint64_t n) noexcept { return n; }

  void begin_line(const char* what, int rank, status s, std::uint64_t& again) noexcept {
    std::fprintf(file_, "%llu %s %d %s", as_printed(arch::now_ns() - begin_), what, rank, to_string(s).data());
    if (again != 0) std::fprintf(file_, " after %llu again", as_printed(again));
    again = 0;
  }

  std::FILE* file_ = nullptr;
  std::uint64_t begin_;
  std::uint64_t refused_ = 0;
  std::uint64_t waited_ = 0;
};

}  // namespace

std::unique_ptr<transport> make_trace(std::unique_ptr<transport> inner, const context& where) {
  return std::make_unique<trace>(std::move(inner), where);
}

}  // namespace tobi::transports::decorators
