// The greedy join: CLUSTER 2022, figure 4. record.hpp says how one atomic a side does it.
#include "arch/clock.hpp"
#include "libcore/task/sched_continuation.hpp"
#include "libcore/task/worker.hpp"

namespace tobi::tasks {

using transports::op;
using transports::op_kind;

bool sched_greedy::park(std::uint64_t where, std::uint64_t record) { return w_.enlist(where, record); }

// DIE, lines 27 to 40: one atomic, whether or not somebody waits.
void sched_greedy::conclude(alloc::location at, record& made) noexcept {
  fabric& net = w_.net();
  made.done_ns = arch::now_ns();
  std::uint64_t found = 0;
  if (net.is_local(at)) {
    fill_record(*static_cast<record*>(net.local(at)), made);
    found = net.fetch_add(at, record_done);
  } else {
    const op both[] = {
        {op_kind::put, false, net.heap(at.rank()), at.offset() + record_head, &made.status, sizeof made - record_head,
         0, 0},
        {op_kind::fetch_add, false, net.heap(at.rank()), at.offset(), &found, 8, record_done, 0},
    };
    net.post(at.rank(), both);
    net.complete(at.rank());
  }
  if (is_done(found)) set_twice(made.serial, at.rank());
  if (found != 0) w_.wake(at, found);
}

}  // namespace tobi::tasks
