// SPDX-License-Identifier: Apache-2.0
// lane: computes, 12 s
// Programs made from a seed, without data races, on global memory and on a plain array: both must say the same. A task
// owns a range, which it writes and reads; when it forks it gives a part to the child, keeps a part, and both may read
// a third until the join. So each byte read has one right value, whoever ran what.
//
// A failure prints the command that makes it again (the seed decides the program and the simulated fabric; which worker
// steals what is up to the machine). COHERENCE_SEEDS says how many jobs there are per place, and COHERENCE_EACH how many
// programs a job has, one after the other. COHERENCE_TRANSPORT=verbs runs those of several workers over that transport,
// and COHERENCE_POLICY and COHERENCE_SHARED set the cache's policy and whether a node shares.
#include <gtest/gtest.h>
#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "in_job.hpp"
#include "libcore/base/rng.hpp"

namespace {

using element = std::uint32_t;
constexpr std::size_t elements = 12 * 1024;  // 48 KiB a job: of three quarters of the cache, and 64 sub-blocks
constexpr int depth_most = 7;

enum class fork_by { task, future, finish };

// The same program on either memory: what differs is how a range is reached, and what a fork is.
struct on_tasks {
  using range = tobi::global_span<element>;
  using object = tobi::global_ptr<std::uint64_t>;
  template <class How, class F>
  static void with(range r, How how, F f) {
    auto open = tobi::checkout(r, how);
    f(open.data(), open.size());
  }
  template <class F, class G>
  static std::uint64_t both(F child, G rest, fork_by how) {
    if (how == fork_by::finish) {
      const object box = tobi::allocate_global<std::uint64_t>(1);
      std::uint64_t mine = 0;
      tobi::finish([&] {
        tobi::async([=] { tobi::store(box, child()); });
        mine = rest();
      });
      return end(box) * 3 + mine;
    }
    if (how == fork_by::future) {
      const auto promised = tobi::spawn_future(child);
      const std::uint64_t mine = rest();
      return promised.join() * 3 + mine;
    }
    auto forked = tobi::spawn(child);
    const std::uint64_t mine = rest();
    return forked.join() * 3 + mine;
  }
  static object make(std::uint64_t value) {
    const object made = tobi::allocate_global<std::uint64_t>(1);
    tobi::store(made, value);
    return made;
  }
  static std::uint64_t end(object o) {
    const std::uint64_t value = tobi::load(o);
    tobi::free_global(o, 1);
    return value;
  }
  static void add(range r, element value) { tobi::accumulate(r, std::vector<element>(r.size(), value)); }
  static element add_one(range r, element value) { return tobi::fetch_add(r.data(), value); }
  static void put(std::span<const element> values, range r) { tobi::put(values, r); }
  // In two halves that are on their way together.
  static void get(range r, std::span<element> into) {
    const std::size_t half = r.size() / 2;
    auto one = tobi::get_nb(r.first(half), into.first(half));
    auto other = tobi::get_nb(r.subspan(half), into.subspan(half));
    other.wait();
  }
  static void pause() {
    sched_yield();
    tobi::poll();
  }
};
struct on_array {
  using range = std::span<element>;
  using object = std::uint64_t;
  template <class How, class F>
  static void with(range r, How, F f) {
    f(r.data(), r.size());
  }
  template <class F, class G>
  static std::uint64_t both(F child, G rest, fork_by) {
    const std::uint64_t first = child();
    return first * 3 + rest();
  }
  static object make(std::uint64_t value) { return value; }
  static std::uint64_t end(object o) { return o; }
  static void add(range r, element value) {
    for (element& e : r) e += value;
  }
  static element add_one(range r, element value) { return std::exchange(r[0], r[0] + value); }
  static void put(std::span<const element> values, range r) { std::copy(values.begin(), values.end(), r.begin()); }
  static void get(range r, std::span<element> into) { std::copy(r.begin(), r.end(), into.begin()); }
  static void pause() {}
};

// In checkouts of AT_ONCE elements, one behind the other: what follows is fetched ahead.
template <class On>
std::uint64_t read_all(typename On::range r, std::size_t at_once) {
  std::uint64_t hash = 1;
  for (std::size_t from = 0; from < r.size(); from += at_once) {
    On::with(r.subspan(from, std::min(at_once, r.size() - from)), tobi::mode::read,
             [&](const element* p, std::size_t n) {
               for (std::size_t i = 0; i < n; ++i) hash = hash * 1099511628211u + p[i];
             });
  }
  return hash;
}

// By 2^DEPTH tasks, each of which reads all.
template <class On>
std::uint64_t read_by_many(typename On::range r, std::size_t at_once, int depth) {
  if (depth == 0) return read_all<On>(r, at_once);
  const auto half = [=] { return read_by_many<On>(r, at_once, depth - 1); };
  return On::both(half, half, fork_by::task);
}

// OWN may be written, SHARED only read, by this task.
template <class On>
std::uint64_t work(std::uint64_t seed, typename On::range own, typename On::range shared, int depth) {
  tobi::base::rng random(seed);
  std::uint64_t hash = seed;
  const auto part_of = [&random](typename On::range r, std::size_t most) {
    const std::size_t from = random.uniform(r.size() + 1);
    const std::size_t rest = std::min(r.size() - from, most);
    return r.subspan(from, random.uniform(rest + 1));
  };
  const auto steps = 2 + random.uniform(4);
  for (std::uint64_t step = 0; step < steps; ++step) {
    const std::uint64_t chosen = random.uniform(11);
    const std::uint64_t salt = random();
    const std::size_t at_once = salt % 3 == 0 ? 3000 : 50;
    // Small parts: tasks of the same few granules.
    const std::size_t less = salt % 5 < 2 ? 100 : 1;
    if (chosen == 0) {
      const auto part = part_of(own, 1500 / less);
      if (part.empty()) continue;
      On::with(part, tobi::mode::write, [&](element* p, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) p[i] = static_cast<element>(salt + i);
      });
    } else if (chosen == 1) {
      const auto part = part_of(own, 2500 / less);
      if (part.empty()) continue;
      On::with(part, tobi::mode::read_write, [&](element* p, std::size_t n) {
        for (std::size_t i = 0; i < n; ++i) p[i] = static_cast<element>(p[i] * 7 + salt);
      });
    } else if (chosen == 2) {
      hash = hash * 31 + read_all<On>(part_of(own, 3000 / less), at_once);
    } else if (chosen == 3) {
      // By two tasks, or more: workers of a node fetch the same.
      hash = hash * 31 + read_by_many<On>(part_of(shared.empty() ? own : shared, 3000), at_once, salt % 7 < 3 ? 2 : 0);
      On::pause();
    } else if (chosen == 8) {
      // Changes at the homes, and one number's old value.
      const auto part = part_of(own, 300 / less);
      if (part.empty()) continue;
      On::add(part, static_cast<element>(salt));
      hash = hash * 31 + On::add_one(part, static_cast<element>(salt >> 32));
    } else if (chosen == 9) {
      // Around the cache, which may have some of it, older or dirty.
      const auto part = part_of(own, 2500 / less);
      std::vector<element> values(part.size());
      for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<element>(salt ^ i);
      On::put(values, part);
    } else if (chosen == 10) {
      const auto part = part_of(salt % 2 == 0 || shared.empty() ? own : shared, 6000 / less);
      std::vector<element> values(part.size());
      On::get(part, values);
      for (const element value : values) hash = hash * 1099511628211u + value;
    } else if (depth > 0) {
      const std::size_t a = random.uniform(own.size() + 1);
      const std::size_t b = a + random.uniform(own.size() - a + 1);
      // What both may read is a part that nobody owns meanwhile, or what this task itself may only read.
      const bool freeze = chosen % 2 == 0;
      const auto given = own.first(a);
      const auto read = freeze ? own.subspan(a, b - a) : shared;
      const auto kept = freeze ? own.subspan(b) : own.subspan(a);
      const fork_by how = chosen == 7 ? fork_by::future : chosen == 6 ? fork_by::finish : fork_by::task;
      const std::uint64_t one = random();
      const std::uint64_t two = random();
      hash = hash * 31 + On::both([=] { return work<On>(one, given, read, depth - 1); },
                                  [=] { return work<On>(two, kept, read, depth - 1); }, how);
    } else {
      const typename On::object made = On::make(hash ^ salt);
      hash = hash * 31 + On::end(made);
    }
  }
  return hash;
}

struct place {
  const char* name;
  int workers;
  std::vector<std::pair<const char*, const char*>> env;
};

std::vector<place> places() {
  std::vector<place> all{{"alone", 1, {}}, {"shm", 2, {}}, {"shm-4", 4, {}}};
  for (const char* policy : {"none", "write_through", "write_back", "write_back_lazy"}) {
    const std::pair<const char*, const char*> how{"TOBI_CACHE_POLICY", policy}, nodes{"TOBI_NODES", "2"};
    all.push_back({"sim-2", 2, {nodes, how, {"TOBI_TRANSPORT", "sim"}}});
    all.push_back({"sim-4", 4, {nodes, how, {"TOBI_TRANSPORT", "sim"}}});
    all.push_back({"sim-4-apart", 4, {nodes, how, {"TOBI_TRANSPORT", "sim"}, {"TOBI_CACHE_SHARED", "0"}}});
    all.push_back({"sim-6", 6, {nodes, how, {"TOBI_TRANSPORT", "sim"}}});  // of three, one hands on what it inherits
    all.push_back({"sim-4-manual", 4, {how, {"TOBI_TRANSPORT", "sim"}, {"TOBI_SIM", "manual,nochain"}}});
    all.push_back({"ofi-2", 2, {nodes, how, {"TOBI_TRANSPORT", "ofi"}, {"TOBI_OFI_PROVIDER", "tcp;ofi_rxm"}}});
  }
  all.push_back({"ofi-4", 4, {{"TOBI_NODES", "2"}, {"TOBI_TRANSPORT", "ofi"}, {"TOBI_OFI_PROVIDER", "tcp;ofi_rxm"}}});
  all.push_back({"the", 2, {{"TOBI_NODES", "2"}, {"TOBI_TRANSPORT", "sim"}, {"TOBI_DEQUE", "the"}}});
  all.push_back({"migrate", 2, {{"TOBI_NODES", "2"}, {"TOBI_TRANSPORT", "sim"}, {"TOBI_DEBUG_MIGRATE", "1"}}});
  for (const char* sched : {"continuation_stalling", "child_full", "child_rtc"}) {
    const std::pair<const char*, const char*> by{"TOBI_SCHED", sched}, nodes{"TOBI_NODES", "2"};
    all.push_back({sched, 4, {by}});
    for (const char* policy : {"none", "write_through", "write_back", "write_back_lazy"}) {
      const std::pair<const char*, const char*> how{"TOBI_CACHE_POLICY", policy};
      all.push_back({sched, 2, {nodes, how, by, {"TOBI_TRANSPORT", "sim"}}});
      all.push_back({sched, 4, {nodes, how, by, {"TOBI_TRANSPORT", "sim"}}});
    }
    all.push_back({sched, 4, {by, {"TOBI_TRANSPORT", "sim"}, {"TOBI_SIM", "manual,nochain"}}});
    all.push_back({sched, 2, {nodes, by, {"TOBI_TRANSPORT", "sim"}, {"TOBI_DEQUE", "the"}}});
    all.push_back({"ofi-2", 2, {nodes, by, {"TOBI_TRANSPORT", "ofi"}, {"TOBI_OFI_PROVIDER", "tcp;ofi_rxm"}}});
  }
  return all;
}

// What can be set from outside, for places of several workers.
constexpr std::pair<const char*, const char*> given[] = {{"COHERENCE_TRANSPORT", "TOBI_TRANSPORT"},
                                                         {"COHERENCE_POLICY", "TOBI_CACHE_POLICY"},
                                                         {"COHERENCE_SHARED", "TOBI_CACHE_SHARED"}};

int compare(std::uint64_t seed) {
  constexpr std::size_t chunks[] = {0, 4096, 8192};
  const auto a = tobi::allocate_all<element>(elements, tobi::distribution{chunks[seed % 3]});
  std::vector<element> plain(elements);
  for (std::size_t i = 0; i < elements; ++i) plain[i] = static_cast<element>(i);
  const std::uint64_t got = tobi::run([=] {
    tobi::parallel_for(std::size_t{0}, elements / 1024, 1, [=](std::size_t k) {
      auto out = tobi::checkout(a.subspan(k * 1024, 1024), tobi::mode::write);
      for (std::size_t i = 0; i < 1024; ++i) out[i] = static_cast<element>(k * 1024 + i);
    });
    return work<on_tasks>(seed, a, a.first(0), depth_most);
  });
  const std::uint64_t wanted = work<on_array>(seed, std::span(plain), std::span(plain).first(0), depth_most);
  if (got != wanted) return 3;
  for (std::size_t i = 0; i < elements; i += 1024) {
    auto here = tobi::checkout(a.subspan(i, 1024), tobi::mode::read);
    for (std::size_t k = 0; k < 1024; ++k) {
      if (here[k] != plain[i + k]) return 4;
    }
  }
  tobi::free_all(a);
  return 0;
}

// Programs that nothing but the first seed has in common with those of other jobs.
int compare_each(std::uint64_t seed, std::uint64_t programs) {
  for (std::uint64_t i = 0; i < programs; ++i) {
    const int wrong = compare(seed + i * 1'000'003);
    if (wrong == 0) continue;
    std::fprintf(stderr, "program %llu of the job\n", static_cast<unsigned long long>(i));
    return wrong;
  }
  return 0;
}

std::uint64_t number_from(const char* name, std::uint64_t otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

TEST(global_coherence, programs_from_seeds_say_what_they_say_serially) {
  constexpr std::uint64_t all = ~std::uint64_t{0};
  const std::uint64_t one_seed = number_from("COHERENCE_SEED", all);
  const std::uint64_t one_place = number_from("COHERENCE_PLACE", all);
  const std::uint64_t most = number_from("COHERENCE_SEEDS", std::getenv("SOAK") != nullptr ? 5 : 1);
  const std::uint64_t each = number_from("COHERENCE_EACH", std::getenv("SOAK") != nullptr ? 20 : 1);
  std::uint64_t number = 0;
  for (place& p : places()) {
    const std::uint64_t this_place = number++;
    if (one_place != all && one_place != this_place) continue;
    p.env.insert(p.env.end(), {{"TOBI_BLOCK_SIZE", "4K"}, {"TOBI_SUB_BLOCK_SIZE", "256"}, {"TOBI_CACHE_SIZE", "64K"}});
    // A provider whose targets must poll takes a second a program here.
    const std::uint64_t seeds =
        std::string_view(p.name).starts_with("ofi") ? std::clamp<std::uint64_t>(most / 2, 1, 2) : most;
    for (std::uint64_t seed = one_seed == all ? 0 : one_seed; seed < (one_seed == all ? seeds : one_seed + 1); ++seed) {
      const std::string sim_seed = std::to_string(seed + 1);
      auto env = p.env;
      env.emplace_back("TOBI_SIM_SEED", sim_seed.c_str());
      // The least that its checkouts can do with: blocks make room for others all the time.
      if ((seed + this_place) % 2 == 1) env.emplace_back("TOBI_CACHE_SIZE", "16K");
      for (const auto& [outside, setting] : given) {
        if (const char* value = std::getenv(outside); value != nullptr && p.workers > 1) {
          env.emplace_back(setting, value);
        }
      }
      const outcome o = in_job(p.workers, std::span<const std::pair<const char*, const char*>>(env),
                               [=](tobi::runtime&) { return compare_each(seed, each); });
      ASSERT_TRUE(o.status == 0 && o.said.empty())
          << p.name << " ended with " << o.status << (o.status == 3 ? " (another result)" : "")
          << (o.status == 4 ? " (another array)" : "") << ": " << o.said << "\nto see it again: COHERENCE_EACH=" << each
          << " COHERENCE_SEED=" << seed << " COHERENCE_PLACE=" << this_place << " " << program_invocation_name;
    }
  }
}

}  // namespace
