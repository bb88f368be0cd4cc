// SPDX-License-Identifier: Apache-2.0
#include "libcore/pool/rebalancing.hpp"

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstring>
#include <string>

#include "arch/clock.hpp"
#include "libcore/base/log.hpp"

namespace tobi::pool {

using transports::op;

namespace {

// Messages are words: how many of each, and these.
template <class T>
void write(std::vector<std::uint64_t>& to, const std::vector<T>& all) {
  static_assert(sizeof(T) % sizeof(std::uint64_t) == 0);
  const std::size_t at = to.size();
  to.push_back(all.size());
  to.resize(at + 1 + all.size() * sizeof(T) / sizeof(std::uint64_t));
  if (!all.empty()) std::memcpy(to.data() + at + 1, all.data(), all.size() * sizeof(T));
}
template <class T>
void read(const std::uint64_t*& from, std::vector<T>& all) {
  all.resize(*from++);
  if (!all.empty()) std::memcpy(all.data(), from, all.size() * sizeof(T));
  from += all.size() * sizeof(T) / sizeof(std::uint64_t);
}

std::vector<std::uint64_t> message_of(const standing& s) {
  std::vector<std::uint64_t> words;
  write(words, s.loads);
  write(words, s.surplus);
  return words;
}
standing standing_in(const std::vector<std::uint64_t>& words) {
  standing s;
  const std::uint64_t* at = words.data();
  read(at, s.loads);
  read(at, s.surplus);
  return s;
}
std::vector<std::uint64_t> message_of(const share& s) {
  std::vector<std::uint64_t> words;
  write(words, s.out);
  write(words, s.in);
  write(words, s.totals);
  return words;
}
share share_in(const std::vector<std::uint64_t>& words) {
  share s;
  const std::uint64_t* at = words.data();
  read(at, s.out);
  read(at, s.in);
  read(at, s.totals);
  return s;
}

constexpr std::uint64_t entry(std::uint32_t donor, std::uint64_t task) noexcept {
  return std::uint64_t{donor} << 32 | task;
}
constexpr int donor_in(std::uint64_t entry) noexcept { return static_cast<int>(entry >> 32); }
constexpr std::uint64_t task_in(std::uint64_t entry) noexcept { return entry & 0xffff'ffff; }

}  // namespace

rebalancing::rebalancing(const ground& on, executed_tasks& tasks, std::size_t record_bytes, const balance_options& how)
    : on_(on),
      tasks_(tasks),
      record_bytes_(record_bytes),
      how_(how),
      self_(static_cast<std::uint32_t>(on.net->rank())),
      tree_(static_cast<std::uint32_t>(on.net->size()),
            how.how == balancer::central ? std::max(2u, static_cast<unsigned>(on.net->size())) : how.branching),
      batch_(*on.net) {
  result_.ns = arch::now_ns();  // when it began, until fetch()
  terms_.bins = time_bins(how.bins_per_doubling);
  own_sum_.cores = on.computes ? 1 : 0;
  for (std::size_t i = 0; i < tasks.count(); ++i) {
    if (tasks.time(i) == no_time) {
      ++own_sum_.unknown;
      continue;
    }
    ++own_sum_.known;
    own_sum_.known_ns += terms_.bins.ns_of(terms_.bins.bin_of(tasks.time(i)));
  }
}

rebalancing::~rebalancing() {
  for (void* block : blocks_) on_.heap->deallocate(block);
}

template <class T>
T* rebalancing::allocate(std::uint64_t count, const char* what) {
  if (count == 0) return nullptr;
  void* room = on_.heap->allocate(count * sizeof(T), 64);
  if (room == nullptr) {
    base::fatal("the registered heap is full: rank " + std::to_string(self_) + " has no room for " +
                std::to_string(count * sizeof(T)) + " bytes of " + what + " in rebalance(); raise TOBI_HEAP_SIZE.");
  }
  blocks_.push_back(room);
  return static_cast<T*>(room);
}

// Tasks that were never begun are taken to take the mean time of the others.
double rebalancing::give(const load_sum& all) {
  if (all.known != 0) unknown_ = code_of(static_cast<std::uint64_t>(all.known_ns / static_cast<double>(all.known)));
  const double unknown_ns = terms_.bins.ns_of(terms_.bins.bin_of(unknown_));
  const double sum = all.known_ns + unknown_ns * static_cast<double>(all.unknown);
  terms_.average_ns = sum / static_cast<double>(std::max<std::uint64_t>(all.cores, 1));
  terms_.limit_ns = how_.d * terms_.average_ns;
  binned_times own(terms_.bins);
  for (std::size_t i = 0; i < tasks_.count(); ++i) own.add(tasks_.time(i) == no_time ? unknown_ : tasks_.time(i));
  if (own.tasks() > 0xffff'ffff) base::fatal("rebalance() moves at most 2^32 - 1 tasks per worker; use restore().");
  result_.before_ns = own.load_ns();
  standing_ = donate(own, how_.c * terms_.average_ns, on_.computes);
  result_.after_ns = own.load_ns();
  return standing_.surplus.empty() ? 0 : terms_.bins.ns_of(standing_.surplus.back().bin);
}

void rebalancing::open(double longest_ns) {
  terms_.longest_ns = longest_ns;
  const std::size_t slots = 1 + tree_.top_of(self_) * (tree_.branching() - 1);
  slots_ = allocate<slot>(slots, "messages");
  std::memset(slots_, 0, slots * sizeof(slot));
  on_.own->balance = {on_.net->here(slots_).offset(), 0, 0};
}

void rebalancing::send(std::uint32_t rank, std::size_t to_slot, const std::vector<std::uint64_t>& words) {
  const std::uint64_t bytes = words.size() * sizeof(std::uint64_t);
  auto* source = reinterpret_cast<slot*>(allocate<std::byte>(sizeof(slot) + bytes, "messages"));
  std::memcpy(source + 1, words.data(), bytes);
  *source = {on_.net->here(source + 1).offset(), bytes, 1};
  const auto to = static_cast<int>(rank);
  learn_places({to});
  const std::uint64_t at = places_of(to).slots + to_slot * sizeof(slot);
  const transports::region_id heap = on_.net->heap(to);
  // `ready` behind the rest: a reader of it finds that.
  const op both[] = {op::put(heap, at, source, offsetof(slot, ready)),
                     op::put(heap, at + offsetof(slot, ready), &source->ready, sizeof source->ready)};
  on_.net->post(to, both);
  ++result_.messages;
}

std::vector<std::uint64_t> rebalancing::receive(std::size_t in_slot, std::uint32_t from) {
  slot& s = slots_[in_slot];
  // Acquire: the rest of the slot.
  for (unsigned spins = 0; std::atomic_ref(s.ready).load(std::memory_order_acquire) == 0; ++spins) (*on_.wait)(spins);
  auto* room = allocate<std::uint64_t>(s.bytes / sizeof(std::uint64_t), "messages");
  batch_.get(static_cast<int>(from), s.at, room, s.bytes);
  batch_.post();
  batch_.wait();
  ++result_.messages;
  return {room, room + s.bytes / sizeof(std::uint64_t)};
}

// Where ranks have what. Known from a barrier on, and asked for when it is needed.
void rebalancing::learn_places(const std::set<int>& ranks) {
  for (const int rank : ranks) {
    const auto [at, is_new] = places_.try_emplace(rank);
    if (!is_new) continue;
    batch_.get(rank, on_.others->words_of(rank).offset() + offsetof(collection_words, balance), &at->second,
               sizeof at->second);
    ++result_.messages;
  }
  batch_.post();
  batch_.wait();
}

void rebalancing::plan() {
  std::vector<balance_node> nodes;
  const unsigned top = tree_.top_of(self_);
  for (unsigned level = 1; level <= top; ++level) {
    const std::uint32_t index = tree_.node_with(level, self_);
    std::vector<standing> children{std::move(standing_)};
    for (std::uint32_t k = 1; k < tree_.children_of(level, index); ++k) {
      const std::uint32_t from = tree_.host_of(level - 1, index * tree_.branching() + k);
      children.push_back(standing_in(receive(up_slot(level, k), from)));
    }
    nodes.emplace_back(std::move(children), level, level == tree_.levels(), terms_);
    standing_ = nodes.back().up();
  }
  if (top < tree_.levels()) {
    const std::uint32_t parent = tree_.host_of(top + 1, tree_.node_with(top + 1, self_));
    const std::uint32_t seat = tree_.node_with(top, self_) % tree_.branching();
    send(parent, up_slot(top + 1, seat), message_of(standing_));
    share_ = share_in(receive(0, parent));
  }
  for (unsigned level = top; level >= 1; --level) {
    std::vector<share> each = nodes[level - 1].down(share_);
    const std::uint32_t first = tree_.node_with(level, self_) * tree_.branching();
    for (std::uint32_t k = 1; k < each.size(); ++k) {
      send(tree_.host_of(level - 1, first + k), 0, message_of(each[k]));
    }
    share_ = std::move(each.front());
  }
  pack();
  make_directory();
}

// What is given away lies side by side, by bin, as share_.out has it.
void rebalancing::pack() {
  std::stable_sort(share_.out.begin(), share_.out.end(), [](const flow& a, const flow& b) { return a.bin < b.bin; });
  struct place {
    std::uint64_t next, end;
  };
  std::map<std::uint32_t, place> bins;
  for (const flow& f : share_.out) {
    place& p = bins.try_emplace(f.bin, place{given_, given_}).first->second;
    p.end = given_ += f.count;
    result_.after_ns -= terms_.bins.ns_of(f.bin) * f.count;
  }
  for (const flow& f : share_.in) result_.after_ns += terms_.bins.ns_of(f.bin) * f.count;
  given_tasks_ = allocate<std::byte>(given_ * record_bytes_, "tasks that move to other workers");
  if (given_ == 0) return;
  on_.own->balance.given = on_.net->here(given_tasks_).offset();
  place* of = nullptr;
  tasks_.take_out(
      [&](std::size_t i) {
        const auto found = bins.find(terms_.bins.bin_of(tasks_.time(i) == no_time ? unknown_ : tasks_.time(i)));
        of = found == bins.end() ? nullptr : &found->second;
        return of != nullptr && of->next != of->end;
      },
      [&](std::size_t) { return given_tasks_ + of->next++ * record_bytes_; });
}

// Entries of the directory of this rank's node of LEVEL that each of its ranks has.
std::uint64_t rebalancing::part_of(unsigned level) const noexcept {
  const std::uint64_t ranks = tree_.ranks_of(level, tree_.node_with(level, self_));
  return (total_of(level) + ranks - 1) / ranks;
}
// The parts of the higher nodes are in front: ranks of one node have these alike.
std::uint64_t rebalancing::part_begin(unsigned level) const noexcept {
  std::uint64_t begin = 0;
  for (unsigned l = level + 1; l <= tree_.levels(); ++l) begin += part_of(l);
  return begin;
}

void rebalancing::make_directory() {
  directory_ = allocate<std::uint64_t>(part_begin(0), "the directory of tasks that move");
  if (directory_ != nullptr) on_.own->balance.directory = on_.net->here(directory_).offset();
  places_.clear();  // there is more now
}

std::vector<rebalancing::part> rebalancing::parts_of(const std::vector<flow>& flows) const {
  std::vector<part> parts;
  for (const flow& f : flows) {
    const std::uint64_t each = part_of(f.level);
    const std::uint32_t first = tree_.host_of(f.level, tree_.node_with(f.level, self_));
    for (std::uint64_t done = 0; done < f.count;) {
      const std::uint64_t at = f.place + done;
      const std::uint64_t count = std::min(f.count - done, each - at % each);
      parts.push_back({static_cast<int>(first + at / each), part_begin(f.level) + at % each, count});
      done += count;
    }
  }
  return parts;
}

void rebalancing::tell() {
  std::uint64_t* entries = allocate<std::uint64_t>(given_, "the directory of tasks that move");
  for (std::uint64_t i = 0; i < given_; ++i) entries[i] = entry(self_, i);
  const std::vector<part> parts = parts_of(share_.out);
  std::set<int> owners;
  for (const part& p : parts) owners.insert(p.owner);
  owners.erase(static_cast<int>(self_));
  learn_places(owners);
  for (const part& p : parts) {
    if (p.owner == static_cast<int>(self_)) {
      std::memcpy(directory_ + p.first, entries, p.count * sizeof *entries);
    } else {
      batch_.put(p.owner, places_of(p.owner).directory + p.first * sizeof *entries, entries, p.count * sizeof *entries);
      ++result_.messages;
    }
    entries += p.count;
  }
  batch_.post();
  batch_.wait();
}

void rebalancing::fetch() {
  received_ = tasks_in(share_.in);
  std::uint64_t* const room = allocate<std::uint64_t>(received_, "the directory of tasks that move");
  const std::vector<part> parts = parts_of(share_.in);
  std::set<int> owners;
  for (const part& p : parts) owners.insert(p.owner);
  owners.erase(static_cast<int>(self_));
  learn_places(owners);
  std::uint64_t* to = room;
  for (const part& p : parts) {
    if (p.owner == static_cast<int>(self_)) {
      std::memcpy(to, directory_ + p.first, p.count * sizeof *to);
    } else {
      batch_.get(p.owner, places_of(p.owner).directory + p.first * sizeof *to, to, p.count * sizeof *to);
      ++result_.messages;
    }
    to += p.count;
  }
  batch_.post();
  batch_.wait();
  std::vector<std::uint64_t> entries(room, room + received_);
  fetch_tasks(entries);
  result_.ns = arch::now_ns() - result_.ns;
}

// Tasks that lie side by side at their donor come with one get.
void rebalancing::fetch_tasks(std::vector<std::uint64_t>& entries) {
  std::sort(entries.begin(), entries.end());
  std::set<int> donors;
  for (const std::uint64_t e : entries) donors.insert(donor_in(e));
  donors.erase(static_cast<int>(self_));
  learn_places(donors);
  received_tasks_ = allocate<std::byte>(received_ * record_bytes_, "tasks that come from other workers");
  for (std::size_t begin = 0, end = 0; begin != entries.size(); begin = end) {
    while (end != entries.size() && entries[end] == entries[begin] + (end - begin)) ++end;
    const int donor = donor_in(entries[begin]);
    const std::uint64_t at = task_in(entries[begin]) * record_bytes_;
    std::byte* to = received_tasks_ + begin * record_bytes_;
    const std::uint64_t bytes = (end - begin) * record_bytes_;
    if (donor == static_cast<int>(self_)) {
      std::memcpy(to, given_tasks_ + at, bytes);
      continue;
    }
    batch_.get(donor, places_of(donor).given + at, to, bytes);
    ++result_.messages;
    result_.moved += end - begin;
  }
  batch_.post();
  batch_.wait();
}

}  // namespace tobi::pool
