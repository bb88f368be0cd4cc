// SPDX-License-Identifier: Apache-2.0
// One attempt to steal, counted and traced: which worker to try, and what came of it.
//
// A thief that has found nothing for so long that it sleeps between its attempts looks before it tries (lookout.hpp),
// and calls its victim's attendant at once.
#pragma once

#include <cstdint>
#include <vector>

#include "libcore/deque/deque.hpp"
#include "libcore/deque/window.hpp"
#include "libcore/net/fabric.hpp"
#include "libcore/sched/lookout.hpp"
#include "libcore/sched/numbering.hpp"
#include "libcore/sched/own_part.hpp"
#include "libcore/sched/parts.hpp"
#include "libcore/sched/sights.hpp"
#include "libcore/sched/sleepers.hpp"
#include "libcore/sched/surroundings.hpp"
#include "libcore/task/fences.hpp"
#include "libcore/task/region.hpp"
#include "libcore/task/shared_objects.hpp"
#include "libcore/task/standstill.hpp"
#include "libcore/trace/steal.hpp"
#include "tobi/statistics.hpp"

namespace tobi::sched {

class thief {
 public:
  thief(tasks::shared_objects& objects, const tasks::fences& memory, tasks::region& here, sights& seen,
        tasks::standstill& still, statistics& counts, sleepers& others) noexcept
      : objects_(objects),
        fences_(memory),
        region_(here),
        sights_(seen),
        still_(still),
        counts_(counts),
        sleepers_(others) {}
  /// The memory of PARTS.near is mapped here. FAR: there are other ranks than those. WORKERS outlives this.
  void start(const worker_parts& parts, deque::deque& work, const numbering& workers, bool far);

  /// One attempt. The deque is empty and quiet. Of what was taken count_phases() is to be told, once it is in its
  /// place.
  trace::steal_result steal(trace::stolen& got);
  /// Counts the phases of a steal.
  void count_phases(const trace::stolen& got) noexcept;
  /// SC'23, figure 5: Acquire #2. What was taken may read what its victim had written. Not before its frames or
  /// descriptor are in place: until it returns this worker serves releases itself.
  void acquire(const trace::stolen& got) const noexcept { fences_.acquire(got.ticket, got.victim); }

  /// It sleeps from now on before each attempt. Returns for how long.
  [[nodiscard]] std::uint64_t falls_asleep() noexcept {
    sleeps_ = true;
    return lookout_.nap_ns();
  }
  /// The part of a loop that has its data here begins, or is dealt out. Returns of_part() as it was.
  bool part_begins() noexcept { return part_begins(own_node_); }
  /// The same, of a share of a range of workers.
  bool share_begins(const detail::division& range) noexcept {
    return part_begins(surroundings::of_share(range, node_, all_));
  }
  /// A part of such a loop ends, which is INSIDE of another one.
  void part_ends(bool inside) noexcept;
  /// Whether what this worker runs is of such a part, its own or one that it has taken.
  [[nodiscard]] bool of_part() const noexcept { return of_part_; }

  /// There is work again.
  void wakes() noexcept { sleeps_ = false; }

 private:
  bool part_begins(const surroundings& around) noexcept;
  [[nodiscard]] int next_victim(reach may) noexcept;
  [[nodiscard]] int look(bool near_alone) noexcept;
  /// Whether RANK is not of the group that own_part_.reach() has meant.
  [[nodiscard]] bool is_outside(int rank) const noexcept {
    return !holds(around_.groups[own_part_.group()], workers_->number_of(rank));
  }
  [[nodiscard]] bool is_far(int rank) const noexcept { return (*nodes_)[rank] != (*nodes_)[net_->rank()]; }
  void show_part(bool runs) noexcept;
  void found_work(const trace::stolen& got) noexcept;
  void ends_what_was_taken() noexcept;

  tasks::shared_objects& objects_;
  const tasks::fences& fences_;
  tasks::region& region_;
  sights& sights_;
  tasks::standstill& still_;
  statistics& counts_;
  sleepers& sleepers_;
  net::fabric* net_ = nullptr;
  deque::deque* deque_ = nullptr;
  victims* choice_ = nullptr;
  const base::per_rank<int>* nodes_ = nullptr;
  const numbering* workers_ = nullptr;
  numbers node_{};  // of this worker's node
  numbers all_{};
  deque::steal_window* window_ = nullptr;
  lookout lookout_;
  own_part own_part_;
  surroundings own_node_;
  surroundings around_;  // what own_part_ waits in
  bool of_part_ = false;
  bool always_looks_ = false;
  bool sleeps_ = false;  // between its attempts
};

}  // namespace tobi::sched
