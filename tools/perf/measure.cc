// SPDX-License-Identifier: Apache-2.0
#include "tools/perf/measure.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "arch/clock.hpp"
#include "arch/topology.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/tcp/meeting.hpp"
#include "libcore/base/log.hpp"
#include "tools/perf/agents.hpp"
#include "tools/perf/control.hpp"
#include "tools/perf/initiator.hpp"
#include "tools/perf/items.hpp"
#include "tools/perf/lane.hpp"
#include "tools/perf/pairs.hpp"
#include "tools/perf/set_up.hpp"
#include "transports/registry.hpp"
#include "transports/soft/settings.hpp"

namespace tobi_perf {

namespace {

namespace arch = tobi::arch;
namespace base = tobi::base;
namespace transports = tobi::transports;

constexpr std::uint64_t limit_ns = 60'000'000'000;  // an operation on a target that polls: then something is broken

// The other rank's memory, opened here, where both are on one machine; -1 else.
int peer_file(tobi::bootstrap::bootstrap& job, int own) {
  const std::array<int, 2> mine{getpid(), own};
  job.put("files", std::as_bytes(std::span(mine)));
  job.fence();
  std::array<int, 2> theirs{};
  const int other = job.rank() == 0 ? 1 : 0;
  std::memcpy(theirs.data(), job.get(other, "files").data(), sizeof theirs);
  if (job.nodes()[job.rank()] != job.nodes()[other]) return -1;
  const std::string path = "/proc/" + std::to_string(theirs[0]) + "/fd/" + std::to_string(theirs[1]);
  const int here = open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (here < 0) {
    base::fatal("the memory of the other rank cannot be opened (" + path + ": " + std::strerror(errno) +
                "); both must be of one user.");
  }
  return here;
}

void* shared(std::size_t bytes, int fd) {
  void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) {
    base::fatal("no memory of " + base::format_size(bytes) + " for the measurement (" + std::strerror(errno) +
                "); lower --size.");
  }
  return at;
}

int memory_file(std::size_t bytes) {
  const int fd = memfd_create("tobi-perf", MFD_CLOEXEC);
  if (fd < 0 || ftruncate(fd, static_cast<off_t>(bytes)) != 0) {
    base::fatal("no memory of " + base::format_size(bytes) + " for the measurement (" + std::strerror(errno) +
                "); lower --size.");
  }
  return fd;
}

struct places {
  std::string text;    // of both ranks
  int other_cpu = -1;  // rank 1's, where both are bound to cores of this machine, and not to the same
};

// Binds this rank to a core of its machine, and says where both are.
places bind_rank(tobi::bootstrap::bootstrap& job, const base::settings& s, const std::vector<int>& chosen,
                 const pair* pairs, int shown) {
  const auto& cores = arch::this_machine().cores;
  const int node = job.nodes()[job.rank()];
  const auto here = static_cast<std::size_t>(
      pairs != nullptr ? pairs->place_on_node()
                       : std::count(job.nodes().begin(), job.nodes().begin() + job.rank(), node));  // which of its node
  std::string place = "not bound to a core";
  int bound = -1;
  if (!chosen.empty() || (s.pin != base::pin_policy::none && cores.size() >= 2)) {
    const int cpu = chosen.empty() ? cores[here % cores.size()].os_cpu : chosen[here % chosen.size()];
    const std::string why = arch::bind_to_cpu(cpu);
    place = why.empty() ? fmt::format("cpu {}", cpu) : place + " (" + why + ")";
    if (why.empty()) bound = cpu;
    if (!chosen.empty() && !why.empty()) base::fatal("--cpus: " + why, base::exit_usage);
  }
  job.put("place", std::as_bytes(std::span(place.data(), place.size())));
  job.put("cpu", std::as_bytes(std::span(&bound, 1)));
  job.fence();
  places all;
  int theirs = -1;
  std::memcpy(&theirs, job.get(1, "cpu").data(), sizeof theirs);
  if (job.nodes()[0] == job.nodes()[1] && pairs == nullptr && shown == 2 && bound >= 0 && bound != theirs) {
    all.other_cpu = theirs;
  }
  for (int r = 0; r < shown; ++r) {
    const auto told = job.get(r, "place");
    all.text +=
        fmt::format("{}{}: {}", r == 0 ? "" : ", ", base::name_of_rank(pairs != nullptr ? pairs->rank_in_job(r) : r),
                    std::string_view(reinterpret_cast<const char*>(told.data()), told.size()));
  }
  return all;
}

// --- rank 0 -------------------------------------------------------------------------------------------

std::string why_unable(const lane& l, const transports::transport& fabric, const work& w) {
  if (w.idle && needs_answers(w.what)) return "the target of a ping-pong cannot be idle";
  if (w.idle && is_atomic(w.what) && fabric.serves_only(1)) {
    return "the target is the worker that executes the atomics (TOBI_AMO_SERVER=worker) and cannot be idle";
  }
  return l.unable(w);
}

// What the transport says about a target that sleeps; what it does is measured all the same.
void note_idle(const transports::capabilities& c, const work& w) {
  const bool passive = is_atomic(w.what) ? c.passive_amo : c.passive_rma;
  emit_note(fmt::format("The target sleeps; the transport {} that {} complete without it.",
                        passive ? "claims" : "does not claim", is_atomic(w.what) ? "atomics" : "puts and gets"));
}

// Lanes that the user wants, by `calls`.
std::size_t ways_of(const arguments& a) noexcept { return a.best ? 3 : a.raw ? 2 : 1; }

// False when a lane is stuck.
bool run_rank0(const arguments& a, controller& others, const transports::transport& fabric,
               const std::vector<lane*>& lanes, const std::string& raw_why_not, pair* pairs, int other_cpu) {
  initiator first(a, others, lanes, pairs, other_cpu);
  bool told = false;
  for (const item& i : items_of(a)) {
    std::vector<row> rows;
    std::vector<std::string> unable;
    for (std::size_t l = 0; l < lanes.size(); ++l) {
      unable.push_back(why_unable(*lanes[l], fabric, i.todo));
      rows.push_back(
          {i.op, std::string(fabric.name()), i.todo.bytes, static_cast<calls>(l), 0, 1, {}, {}, unable.back()});
    }
    if (a.responder_idle && !std::exchange(told, true)) note_idle(fabric.caps(), i.todo);
    first.measure(i, unable, rows);
    for (std::size_t l = 0; l < rows.size(); ++l) {
      emit(first.sum(rows[l]));
      if (rows[l].ns) first.show_samples(l, rows[l]);
    }
    for (std::size_t l = lanes.size(); l < ways_of(a); ++l) {
      emit({i.op, std::string(fabric.name()), i.todo.bytes, static_cast<calls>(l), 0, 1, {}, {}, raw_why_not});
    }
  }
  return !first.is_stuck();
}

// --- the others ----------------------------------------------------------------------------------------

// What rank 0 does, for as long.
done_by_itself repeats(lane& l, const work& w, const stop_flag& stop) {
  done_by_itself done;
  constexpr std::uint64_t few = 8;  // between looks whether it is to stop; single ones may each take long
  const std::uint64_t at_once = is_window(w.what) ? window_of(w) : few;
  const std::uint64_t begin = arch::now_ns();
  do {  // once at least, however late this rank gets a core
    if (!l.initiate(w, at_once)) base::fatal("an operation was not completed in time.");
    done.operations += at_once;
  } while (stop.load(std::memory_order_relaxed) == 0);
  done.ns = arch::now_ns() - begin;
  return done;
}

void run_other(listener& orders, const std::vector<lane*>& lanes, pair* pairs, crowd with) {
  for (order now = orders.next(); !now.quit; now = orders.next()) {
    if (now.meets) {
      pairs->meet();
      continue;
    }
    lane& l = *lanes[now.lane];
    l.start(now.todo);
    orders.say_ready();
    done_by_itself done;
    const std::uint64_t waited_before = waited_for_core_ns();
    if (now.todo.both_ways) {
      done = repeats(l, now.todo, orders.stop());
    } else {
      l.respond(now.todo, orders.stop());
    }
    done.without_core_ns = waited_for_core_ns() - waited_before;
    done.core_ns = core_ns();
    orders.say_stopped(done);
    if (with == crowd::none || !now.todo.both_ways) continue;
    l.respond({now.todo.what, now.todo.bytes}, orders.rest());
    orders.say_resting();
  }
}

// --- the servers of TOBI_AMO_SERVER=worker ------------------------------------------------------------

// Two ranks are measured. Behind them come the servers: one for both where they are on one node, else one of each.
int servers_of(const base::settings& s) {
  if (s.of<transports::soft::settings>().amo_server != transports::soft::amo_place::worker) return 0;
  return s.nodes >= 2 ? 2 : 1;
}

base::per_rank<int> nodes_of(const base::settings& s, const arguments& a) {
  if (s.nodes < 2) return {};
  if (a.with != crowd::none) {
    base::per_rank<int> all;
    for (int r = 0; r < processes_of(a); ++r) all.push_back(a.with == crowd::incast ? r == 1 : r % s.nodes);
    return all;
  }
  return servers_of(s) == 0 ? base::per_rank<int>{0, 1} : base::per_rank<int>{0, 1, 0, 1};
}

// Nobody asks the server of rank 0's own node, so it does not take the core from the one that measures.
void run_server(const scene& s, const listener& orders, transports::transport& fabric, bool is_asked) {
  const bool shares_core = arch::this_machine().cores.size() < static_cast<std::size_t>(s.job.size());
  while (!orders.is_over()) {
    fabric.progress();
    if (!is_asked) usleep(1000);
    if (shares_core) sched_yield();
  }
}

// --- a job of a launcher's, or of two hosts that met ---------------------------------------------------

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
void put_text(tobi::bootstrap::bootstrap& job, std::string_view key, const std::string& text) {
  job.put(key, std::as_bytes(std::span(text.data(), text.size())));
}

// Rank 0's arguments are all ranks', and it chooses the transport. "" or why some rank cannot use that.
std::string agree(tobi::bootstrap::bootstrap& job, const transports::context& here, arguments& a) {
  transports::choice chosen;
  if (job.rank() == 0) {
    chosen = transports::choose(a.transports.front(), here);
    if (chosen.why_not.empty()) a.transports.front() = chosen.name;
  }
  put_text(job, "arguments", to_text(a));
  job.fence();
  from_text(text_of(job.get(0, "arguments")), a);
  put_text(job, "why not",
           chosen.why_not.empty() ? transports::why_not_here(a.transports.front(), here) : chosen.why_not);
  job.fence();
  for (int r = 0; r < job.size(); ++r) {
    if (const std::string why = text_of(job.get(r, "why not")); !why.empty())
      return "by " + base::name_of_rank(r) + ": " + why;
  }
  return "";
}

int measure_in(tobi::bootstrap::bootstrap& job, const base::settings& settings, const transports::context& here,
               const arguments& a, pair* pairs) {
  const std::string& name = a.transports.front();
  const layout where(*std::max_element(a.sizes.begin(), a.sizes.end()));
  const places where_bound = bind_rank(job, settings, a.cpus, pairs, a.with == crowd::none ? 2 : job.size());
  const int own_file = memory_file(where.total);
  const int theirs_file = peer_file(job, own_file);
  void* const memory = shared(where.total, own_file);
  std::memset(memory, 0, where.total);
  const std::uint64_t begin = arch::now_ns();
  auto fabric = transports::select(name, here);
  const set_up_part creating{"create", static_cast<double>(arch::now_ns() - begin)};
  const scene s{job,         settings,
                where,       {memory, where.total, own_file, 0},
                theirs_file, a.responder_idle ? idle_limit_ns : limit_ns,
                a.with};
  auto through = transport_lane(s, *fabric);
  std::string raw_why_not;
  std::vector<std::unique_ptr<lane>> raw;
  while (job.size() == 2 && raw.size() + 1 < ways_of(a)) {
    auto made = raw_lane(name, s, static_cast<calls>(raw.size() + 1), raw_why_not);
    if (made == nullptr) break;
    raw.push_back(std::move(made));
  }
  if (job.size() != 2) raw_why_not = "the library's own calls are measured between two processes, without a server";
  // Why rank 1 could not is for rank 0 to say.
  put_text(job, "raw why not", raw_why_not);
  job.fence();
  if (const std::string theirs = text_of(job.get(1, "raw why not"));
      raw_why_not.starts_with("the other rank") && !theirs.empty()) {
    raw_why_not = "on rank 1 " + theirs;
  }
  std::vector<lane*> lanes{through.get()};
  for (const auto& of_library : raw) lanes.push_back(of_library.get());

  const std::vector<row> registering = a.op == sheet_op ? time_registration(*fabric) : std::vector<row>{};
  bool alive = true;
  if (job.rank() == 0) {
    controller others(job, a.with);
    emit_note(fmt::format("{}: {}{}; reading the clock takes {:.1f} ns of a sample", name, where_bound.text,
                          through->describe().empty() ? "" : "; " + through->describe(), clock_cost_ns()));
    if (!counts_waits_for_cores()) {
      emit_note(
          "The kernel does not say how long a thread waits for a core (no /proc/thread-self/schedstat): rows that "
          "others disturb are not told.");
    }
    for (std::size_t l = 1; l < lanes.size(); ++l) {
      emit_note(fmt::format("{} {}: {}", name, name_of(static_cast<calls>(l)), lanes[l]->describe()));
    }
    if (a.op == sheet_op) {
      for (const row& r : once(*fabric, creating, through->set_up())) emit(r);
      for (const row& r : registering) emit(r);
    }
    alive = run_rank0(a, others, *fabric, lanes, raw_why_not, pairs, where_bound.other_cpu);
    others.quit();
  } else {
    listener orders(job);
    if (job.rank() == 1 || a.with != crowd::none) {
      if (tobi::bootstrap::tcp::listens())
        emit_note(fmt::format("{}: {}. Rank 0 prints the rest.", name, where_bound.text));
      run_other(orders, lanes, pairs, a.with);
    } else {
      run_server(s, orders, *fabric, job.rank() == job.size() - 1);
    }
  }
  // Both must be here before either closes what the other uses. A lane that never ended its operations is left as it
  // is.
  job.finalize();
  if (!alive) {
    (void)through.release();
    for (auto& of_library : raw) (void)of_library.release();
    (void)fabric.release();
  }
  return 0;
}

// As lines, for the process that gathers them.
sink chosen_sink{[](const arguments&, const row& r) { fmt::print("{}\n", to_line(r)); },
                 [](const arguments&, const std::string& text) { fmt::print("# {}\n", text); }};
const arguments no_arguments;
const arguments* of_rows = &no_arguments;
bool all_are_measured = true;

}  // namespace

void emit_to(const arguments& a, sink where) {
  of_rows = &a;
  chosen_sink = where;
}
bool all_measured() noexcept { return all_are_measured; }
void emit(const row& r) {
  if (!r.ns) all_are_measured = false;
  chosen_sink.row(*of_rows, r);
  std::fflush(stdout);
}
void emit_note(const std::string& text) {
  chosen_sink.note(*of_rows, text);
  std::fflush(stdout);
}

namespace {

std::string wrong_number(const arguments& a, int size) {
  if (a.pairs != 1)
    return fmt::format("tobi-perf --pairs {} measures between {} processes; start so many.", a.pairs, size);
  if (a.with != crowd::none) {
    return fmt::format("tobi-perf {} {} measures between {} processes; start so many.",
                       a.with == crowd::incast ? "--incast" : "--all-to-all", a.ranks, size);
  }
  if (size == 2 && a.op == sheet_op) {
    return a.transports.front() == "mpi" ? "tobi-perf all measures mpi between two processes; start two."
                                         : "tobi-perf all measures between processes; start two, or more.";
  }
  if (size == 2) return "tobi-perf measures between two processes; start two, or give --pairs for more.";
  return fmt::format(
      "tobi-perf measures between two processes, and TOBI_AMO_SERVER=worker takes {} for their nodes; start {}.",
      size - 2, size);
}

// A sheet has rows of any two processes, of several, and of a runtime.
int measure_in_parts(tobi::bootstrap::bootstrap& job, const base::settings& settings, const arguments& a) {
  agents all(job, settings);
  int status = 0;
  if (job.rank() == 0) {
    if (!can_write_page(a)) base::fatal("--html: " + a.html + " cannot be written.", base::exit_usage);
    status = run_sheets(all, a);
    all.quit();
  } else {
    all.serve();
  }
  job.finalize();
  return status;
}

}  // namespace

int processes_with_servers(const arguments& a, const base::settings& in_force) {
  return uses_runtime(a.op) ? 2 : processes_of(a) + servers_of(in_force);
}

int measure_operations(arguments a) {
  base::settings settings = base::read_settings();
  const bool launched = tobi::bootstrap::launched();
  if ((a.pairs > 1 || a.with != crowd::none) && servers_of(settings) != 0) {
    base::fatal("tobi-perf measures several at once without servers; leave TOBI_AMO_SERVER=worker out.",
                base::exit_usage);
  }
  const int size = processes_with_servers(a, settings);
  transports::context here{0, a.pairs > 1 ? 2 : size, nodes_of(settings, a), settings};
  const auto cannot_be_used = [&](const std::string& why) {
    for (const std::uint64_t bytes : a.op == sheet_op ? std::vector{a.sizes.front()} : a.sizes)
      emit({a.op, a.transports.front(), bytes, calls::transport, 0, 1, {}, {}, "it cannot be used here: " + why});
  };
  for (const auto& entry : transports::registry()) {
    if (launched || entry.name != a.transports.front()) continue;
    if (const std::string why = transports::unusable_apart(entry, here); !why.empty()) {
      cannot_be_used(why);
      return 0;
    }
  }
  arch::ns_per_cycle();
  auto job = launched ? tobi::bootstrap::start(settings, 0, 1) : tobi::bootstrap::fork_workers(size);
  const bool any_number = launched && !a.child && a.op == sheet_op && job->size() > 1;
  const auto check_size = [&] {
    if (job->size() != size) base::fatal_everywhere(job->rank(), wrong_number(a, size), base::exit_usage);
  };
  if (!any_number) check_size();
  pair* pairs = nullptr;
  if (a.pairs > 1) {
    if (job->rank() != 0)
      emit_to(a, {[](const arguments&, const row&) {}, [](const arguments&, const std::string&) {}});
    auto two = std::make_unique<pair>(std::move(job));
    pairs = two.get();
    job = std::move(two);
  }
  if (launched && !a.child && job->rank() == 0) begin_samples(a);
  here.rank = job->rank();
  if (any_number) here.size = job->size();
  // What mpirun has started for one transport of this machine is as this process has said.
  if (launched && (!a.child || tobi::bootstrap::tcp::is_asked())) {
    if (job->nodes().back() != 0) here.nodes.assign(job->nodes().begin(), job->nodes().end());
    if (const std::string why = agree(*job, here, a); !why.empty()) {
      if (job->rank() == 0) cannot_be_used(why);
      job->finalize();
      return 0;
    }
    // MPI's processes are those of its launcher.
    if (!a.child && a.op == sheet_op && a.transports.front() != "mpi") return measure_in_parts(*job, settings, a);
    if (any_number) check_size();
  }
  return measure_in(*job, settings, here, a, pairs);
}

}  // namespace tobi_perf
