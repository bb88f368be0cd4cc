// SPDX-License-Identifier: Apache-2.0
// Transports that break the contract in one point each, to be put over a right one: what tobi-conform is tested with.
#pragma once

#include <time.h>

#include <memory>
#include <set>
#include <span>
#include <string_view>
#include <vector>

#include "transports/decorators/decorator.hpp"

namespace tobi::conformance {

using transports::capabilities;
using transports::context;
using transports::notice;
using transports::op;
using transports::op_kind;
using transports::region_id;
using transports::region_key;
using transports::transport;

/// A breach, and the rule that it breaks: tobi-conform must fail there with WORDS. With the rule "-" it ends, and says
/// WORDS.
struct plant {
  std::string_view name;
  std::string_view base;  // the transport that it is put over
  std::string_view rule;
  std::string_view words;
  std::unique_ptr<transport> (*make)(std::unique_ptr<transport> inner);
};

std::span<const plant> data_plants();
std::span<const plant> atomic_plants();
std::span<const plant> refusal_plants();
std::span<const plant> flow_plants();
std::span<const plant> claim_plants();
inline std::vector<plant> all_plants() {
  std::vector<plant> all;
  for (const auto& some : {data_plants(), atomic_plants(), refusal_plants(), flow_plants(), claim_plants()}) {
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

/// A transport that does as the one below, and claims what claim() makes of its claims.
class wrong : public transports::decorators::decorator {
 public:
  using decorator::decorator;
  [[nodiscard]] const capabilities& caps() const noexcept override {
    claimed_ = decorator::caps();
    claim(claimed_);
    return claimed_;
  }

  status attach(int rank, const region_key& key, region_id& id) override {
    const status s = decorator::attach(rank, key, id);
    if (s == status::ok && ++attached_ % 2 == 0) fences_.insert(id);
    return s;
  }

 protected:
  /// Whether OPS is one operation of KIND that a rule asks for: tobi-conform's ranks wait for each other by puts, too,
  /// to the second region of each, and those stay right.
  [[nodiscard]] bool is_one(std::span<const op> ops, op_kind kind) const noexcept {
    return ops.size() == 1 && ops[0].kind == kind && !fences_.contains(ops[0].region);
  }
  virtual void claim(capabilities&) const noexcept {}
  /// Some hundred times: rules try thousands of times, and what lingers would take long.
  [[nodiscard]] bool still_wrong() noexcept { return ++wrongs_ <= 200; }
  /// One operation, complete.
  status do_now(int rank, const op& one) noexcept {
    status s;
    while ((s = inner().post(rank, {&one, 1})) == status::again) inner().progress();
    if (s != status::ok) return s;
    while ((s = inner().flush(rank)) == status::again) {
    }
    return s;
  }
  /// Others come to see what there is meanwhile, since this rank leaves its core.
  static void linger() noexcept {
    const timespec moment{0, 500'000};
    nanosleep(&moment, nullptr);
  }

 private:
  mutable capabilities claimed_;
  std::set<region_id> fences_;
  int attached_ = 0;
  int wrongs_ = 0;
};

/// Right in all that it does, and not in what it claims: CHANGE makes that of the right claims.
template <auto Change>
struct claims_otherwise final : wrong {
  using wrong::wrong;
  void claim(capabilities& c) const noexcept override { Change(c); }
};

template <class Wrong>
std::unique_ptr<transport> planted(std::unique_ptr<transport> inner) {
  return std::make_unique<Wrong>(std::move(inner));
}

}  // namespace tobi::conformance
