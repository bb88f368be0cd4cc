// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/items.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace tobi_perf {

namespace {

constexpr std::uint64_t small_block = 4096;
constexpr std::uint64_t large_block = 64u << 10;

// The rows that an operation of the command line is made of, of one size and window.
std::vector<item> items_of(const arguments& a, std::uint64_t bytes, std::uint64_t window) {
  const std::string& op = a.op;
  const char* const both = a.with == crowd::incast       ? "-incast"
                           : a.with == crowd::all_to_all ? "-all"
                           : a.both_ways                 ? "-both"
                                                         : "";
  if (op == "get") return {{fmt::format("get{}", both), {step::get, bytes}}};
  if (op == "get-fresh") return {{"get-fresh", {step::fresh, bytes}}};
  if (op == "put" && (!a.loads.empty() || a.with != crowd::none)) {
    return {{fmt::format("put{}", both), {step::put, bytes}}};
  }
  if (op == "put") return {{"put", {step::put, bytes}}, {"put-oneway", {step::ping_pong, bytes}}};
  if (op == "put-notify") return {{"put-notify", {step::notify, bytes}}};
  if (op == "amo-faa") return {{fmt::format("amo-faa{}", both), {step::fetch_add, 8}}};
  if (op == "amo-cas") return {{"amo-cas", {step::compare_swap, 8}}};
  if (op == "wake") return {{"wake", {step::wake, 8}}};
  if (op == "chain") return {{"chain", {step::chain, bytes}}};
  if (op == "rate") return {{fmt::format("rate{}", both), {step::put_window, 8, a.both_ways, window}}};
  return {{fmt::format("bw-get{}", both), {step::get_window, bytes, a.both_ways, window}},
          {fmt::format("bw-put{}", both), {step::put_window, bytes, a.both_ways, window}}};
}

// Adds a row of I for each load.
void add_loaded(const item& i, const std::vector<std::string>& loads, std::vector<item>& to) {
  for (const std::string& text : loads) to.push_back({i.op + "@" + text, i.todo, parse_load(text)});
}

// Of the cost sheet. What an idle target may not let end comes last.
std::vector<item> items_of_all(const arguments& a) {
  const auto sized = [](const char* op, step s, std::uint64_t bytes, std::uint64_t window = 0) {
    return item{op, {s, bytes, false, window}};
  };
  const std::uint64_t largest = *std::max_element(a.sizes.begin(), a.sizes.end());
  std::vector<item> list;
  for (const std::uint64_t bytes : a.sizes) list.push_back(sized("get", step::get, bytes));
  for (const std::uint64_t bytes : {std::uint64_t{8}, small_block}) {
    list.push_back(sized("get-fresh", step::fresh, bytes));
    list.push_back(sized("put", step::put, bytes));
    list.push_back(sized("put-oneway", step::ping_pong, bytes));
  }
  list.push_back(sized("put-notify", step::notify, 8));
  list.push_back(sized("amo-faa", step::fetch_add, 8));
  list.push_back(sized("amo-cas", step::compare_swap, 8));
  list.push_back(sized("chain", step::chain, 8));
  list.push_back(sized("wake", step::wake, 8));
  add_loaded(sized("get", step::get, 8), {"10%", "50%", "90%"}, list);
  for (const std::uint64_t window : a.windows) list.push_back(sized("rate", step::put_window, 8, window));
  for (const std::uint64_t bytes : {large_block, std::max(large_block, largest)}) {
    if (bytes == large_block && list.back().op == "bw-put") break;
    list.push_back(sized("bw-get", step::get_window, bytes));
    list.push_back(sized("bw-put", step::put_window, bytes));
  }
  for (const item& i :
       {sized("get-idle", step::get, 8), sized("put-idle", step::put, 8), sized("amo-faa-idle", step::fetch_add, 8)}) {
    list.push_back(i);
    list.back().todo.idle = true;
  }
  return list;
}

}  // namespace

std::vector<item> items_of(const arguments& a) {
  if (a.op == sheet_op) return items_of_all(a);
  std::vector<item> list;
  for (const std::uint64_t bytes : a.sizes) {
    for (const std::uint64_t window : a.windows) {
      for (item& next : items_of(a, bytes, window)) {
        next.todo.idle = a.responder_idle;
        if (a.loads.empty()) list.push_back(next);
        add_loaded(next, a.loads, list);
      }
    }
  }
  return list;
}

}  // namespace tobi_perf
