// SPDX-License-Identifier: Apache-2.0
#include "libcore/job/collective.hpp"

#include <map>

namespace tobi::job {

std::string_view name_of(call which) noexcept {
  switch (which) {
    case call::start:
      return "the constructor of tobi::runtime";
    case call::run:
      return "tobi::run";
    case call::barrier:
      return "tobi::runtime::barrier";
    case call::stats:
      return "tobi::runtime::stats";
    case call::reset_stats:
      return "tobi::runtime::reset_stats";
    case call::allocate_all:
      return "tobi::allocate_all";
    case call::free_all:
      return "tobi::free_all";
    case call::set_read_only:
      return "tobi::set_read_only";
    case call::set_writable:
      return "tobi::set_writable";
    case call::make_collection:
      return "the constructor of tobi::task_collection";
    case call::process:
      return "tobi::task_collection::process";
    case call::rebalance:
      return "tobi::task_collection::rebalance";
    case call::end_collection:
      return "the destructor of tobi::task_collection";
    case call::on_all_workers:
      return "tobi::on_all_workers";
    case call::end_of_on_all_workers:
      return "the end of a function that tobi::on_all_workers was given";
    case call::gather:
      return "tobi::runtime::gather (or all_gather, reduce, broadcast, print)";
    case call::end:
      return "the destructor of tobi::runtime";
  }
  return "an unknown call";
}

namespace {

// Of many ranks some are named.
std::string said(const std::vector<int>& ranks) {
  constexpr std::size_t named_at_most = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    if (i == named_at_most) return text + " and " + std::to_string(ranks.size() - i) + " more are";
    if (i != 0) text += i + 1 == ranks.size() ? " and " : ", ";
    text += std::to_string(ranks[i]);
  }
  return text + (ranks.size() == 1 ? " is" : " are");
}

}  // namespace

std::string say_contradiction(int self, const std::vector<rank_in>& ranks) {
  std::map<call, std::vector<int>> in;
  call own = call::start;
  for (const rank_in& r : ranks) {
    in[r.at.which()].push_back(r.rank);
    if (r.rank == self) own = r.at.which();
  }
  std::string text = said(in[own]) + " in " + std::string(name_of(own)) + " while ";
  in.erase(own);
  const char* separator = "";
  for (const auto& [which, who] : in) {
    text += separator + said(who) + " in " + std::string(name_of(which));
    separator = ", and ";
  }
  return text + "; all ranks make these calls, the same ones in the same order.";
}

}  // namespace tobi::job
