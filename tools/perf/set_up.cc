// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/set_up.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>

#include "arch/clock.hpp"

namespace tobi_perf {

namespace {

constexpr std::array<std::uint64_t, 3> registered_sizes{4096, 256u << 10, 16u << 20};
constexpr int registrations = 24;

// Memory of a file that a transport may map, closed at the end.
class file_memory {
 public:
  explicit file_memory(std::size_t bytes) : bytes_(bytes), fd_(memfd_create("tobi-perf-set-up", MFD_CLOEXEC)) {
    if (fd_ < 0 || ftruncate(fd_, static_cast<off_t>(bytes)) != 0) return;
    at_ = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (at_ != MAP_FAILED) std::memset(at_, 1, bytes);
  }
  file_memory(const file_memory&) = delete;
  file_memory& operator=(const file_memory&) = delete;
  ~file_memory() {
    if (at_ != MAP_FAILED) munmap(at_, bytes_);
    if (fd_ >= 0) close(fd_);
  }
  [[nodiscard]] bool is_there() const { return at_ != MAP_FAILED; }
  [[nodiscard]] tobi::transports::memory get() const { return {at_, bytes_, fd_, 0}; }

 private:
  std::size_t bytes_;
  int fd_;
  void* at_ = MAP_FAILED;
};

std::string registered(tobi::transports::transport& fabric, const file_memory& m, std::vector<double>& samples) {
  if (!m.is_there()) return "there is no memory for it";
  for (int i = 0; i < registrations; ++i) {
    tobi::transports::region_key key;
    const std::uint64_t begin = tobi::arch::cycles();
    const tobi::status got = fabric.register_memory(m.get(), key);
    samples.push_back(tobi::arch::cycles_to_ns(tobi::arch::cycles() - begin));
    if (got != tobi::status::ok) {
      const std::string why = fabric.why_not_registered();
      return why.empty() ? "register_memory returned " + std::string(to_string(got)) : why;
    }
    (void)fabric.deregister_memory(key);
  }
  return "";
}

}  // namespace

std::vector<row> once(const tobi::transports::transport& fabric, const set_up_part& creating,
                      const std::vector<set_up_part>& parts) {
  std::vector<row> rows;
  const auto add = [&](const set_up_part& p) {
    rows.push_back({p.name, std::string(fabric.name()), {}, calls::transport, 1, 1, summarize({p.ns}), {}, ""});
  };
  add(creating);
  for (const set_up_part& p : parts) add(p);
  return rows;
}

std::vector<row> time_registration(tobi::transports::transport& fabric) {
  std::vector<row> rows;
  for (const std::uint64_t bytes : registered_sizes) {
    row r{"register", std::string(fabric.name()), bytes, calls::transport, registrations, 1, {}, {}, ""};
    std::vector<double> samples;
    r.note = registered(fabric, file_memory(bytes), samples);
    if (r.note.empty()) {
      r.ns = summarize(samples);
      r.median_within = interval_of(samples);
    }
    rows.push_back(r);
  }
  return rows;
}

}  // namespace tobi_perf
