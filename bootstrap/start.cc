// SPDX-License-Identifier: Apache-2.0
// What starts the job: this process, a launcher, or the user on each host. A launcher that Tobiuo cannot join must not
// end in many jobs of one worker each, which would all print the right answer.
#include <cstdlib>
#include <string>

#include "bootstrap/around.hpp"
#include "bootstrap/bootstrap.hpp"
#include "bootstrap/clients.hpp"
#include "bootstrap/layout.hpp"
#include "bootstrap/mpi/loader.hpp"
#include "bootstrap/tcp/meeting.hpp"
#include "libcore/base/log.hpp"
#include "libcore/base/mpi_plugin.hpp"

#ifdef TOBI_HAVE_PMIX
#include "bootstrap/pmix/pmix.hpp"
#endif

namespace tobi::bootstrap {

namespace {

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}
int number(const char* name) { return is_set(name) ? std::atoi(std::getenv(name)) : 0; }

bool pmix_is_there() { return is_set("PMIX_RANK") && is_set("PMIX_NAMESPACE"); }

// Slurm's own PMI looks like MPICH's launcher, and is not.
bool mpi_is_there() { return base::started_by_mpi() && !is_set("SLURM_PROCID"); }

constexpr const char* good_launchers = "start the program with srun --mpi=pmix, mpirun or prterun";

#ifdef TOBI_HAVE_PMIX
constexpr const char* no_pmix = "";
std::unique_ptr<exchange> join_pmix(const base::settings&) { return pmix::join(); }
#else
constexpr const char* no_pmix = "this library was built without PMIx; install libpmix-dev and build it again";
std::unique_ptr<exchange> join_pmix(const base::settings&) {
  base::fatal(std::string(no_pmix) + ".", base::exit_usage);
}
#endif

// A launcher's way in. Another one is another row.
struct entrance {
  std::string_view name;
  bool (*is_there)();   // this process was started by such a launcher
  const char* missing;  // what is wrong when it was not
  std::unique_ptr<exchange> (*join)(const base::settings& in_force);
};
constexpr entrance entrances[] = {
    {"tcp", tcp::is_asked, "neither TOBI_LISTEN nor TOBI_CONNECT is set", tcp::join},
    {"pmix", pmix_is_there, "PMIX_RANK is not set", join_pmix},
    {"mpi", mpi_is_there, "no launcher of Open MPI or MPICH has started this process",
     [](const base::settings&) { return mpi::join(); }},
};

// Launchers that nothing above can join: which ones they are, and how many processes they started.
void refuse_strangers() {
  const auto refuse = [](const std::string& who) {
    base::fatal(who + " started this program, and would give as many jobs as processes; " + good_launchers +
                    ", or set TOBI_BOOTSTRAP=fork to run each process as a job of its own.",
                base::exit_usage);
  };
  if (is_set("PMI_RANK") && number("PMI_SIZE") > 1)
    refuse("a launcher with PMI but no PMIx (MPICH's mpiexec, or srun --mpi=pmi2)");
  if (is_set("OMPI_COMM_WORLD_RANK") && number("OMPI_COMM_WORLD_SIZE") > 1)
    refuse("an Open MPI without PMIx for its processes");
  // A batch script has SLURM_PROCID as well; only srun counts the tasks of its step.
  if (is_set("SLURM_PROCID") && number("SLURM_STEP_NUM_TASKS") > 1) refuse("srun without --mpi=pmix");
}

using threads = std::vector<std::string>;

void tell_what_is_around(const threads& running, int workers, fork_news tells) {
  if (workers == 1) return;
  if (const std::string lost = lost_threads(running); !lost.empty()) base::log(base::log_level::warn, lost);
  if (tells != nullptr) tells(workers);
}

std::unique_ptr<bootstrap> enter(const entrance& by, base::settings& in_force, int wanted, int cores,
                                 const threads& running, fork_news tells) {
  require_fixed_addresses();
  const layout mine = own_layout();  // before the launcher's library is loaded: its place does not matter
  std::unique_ptr<exchange> launcher = by.join(in_force);
  plan spread = agree(*launcher, mine, wanted, cores, in_force);
  base::set_host_name(spread.host(spread.self));
  if (!launcher->may_fork() && spread.workers(spread.self) > 1) {
    base::fatal("processes of " + std::string(launcher->name()) + " cannot fork more workers: start " +
                    std::to_string(spread.first.back()) + " processes, or leave TOBI_WORKERS alone.",
                base::exit_usage);
  }
  if (spread.self == 0)
    tell_what_is_around(running, spread.workers(spread.self), tells);  // the others run the same program
  return fork_workers(std::move(spread), std::move(launcher));
}

}  // namespace

std::unique_ptr<bootstrap> start(base::settings& in_force, int wanted, int cores, fork_news tells) {
  const std::string& how = in_force.bootstrap;
  mark_job(launched());
  const threads running = other_threads_here();  // before a launcher's library has any
  for (const entrance& e : entrances) {
    if (how == e.name) {
      if (!e.is_there()) {
        base::fatal("TOBI_BOOTSTRAP=" + how + ", but " + e.missing + ": " + good_launchers + ".", base::exit_usage);
      }
      return enter(e, in_force, wanted, cores, running, tells);
    }
    if (how == "auto" && e.is_there()) return enter(e, in_force, wanted, cores, running, tells);
  }
  if (how == "auto") {
    refuse_strangers();
  } else if (how != "fork") {
    base::fatal("TOBI_BOOTSTRAP=" + how + " is not in this build; set it to auto, fork, tcp, pmix or mpi.",
                base::exit_usage);
  }
  const int workers = wanted == one_per_client ? 1 : wanted != 0 ? wanted : cores;
  tell_what_is_around(running, workers, tells);
  return fork_workers(workers);
}

std::unique_ptr<exchange> launched_processes(const base::settings& in_force) {
  for (const entrance& e : entrances) {
    if ((in_force.bootstrap == "auto" || in_force.bootstrap == e.name) && e.is_there()) return e.join(in_force);
  }
  return nullptr;
}

std::vector<way> ways() {
  std::vector<way> all{{"fork", "this process forks the others, on one machine", "", ""}};
  all.push_back({"tcp", "TOBI_LISTEN on one host, TOBI_CONNECT on the others", "", ""});
  way by_pmix{"pmix", "srun --mpi=pmix, mpirun of Open MPI, prterun", "", no_pmix};
#ifdef TOBI_HAVE_PMIX
  const pmix::library_facts found = pmix::facts();
  by_pmix.facts = found.version;
  by_pmix.why_not = found.why_not;
#endif
  all.push_back(by_pmix);
  all.push_back({"mpi", "mpirun or mpiexec of Open MPI or MPICH, without PMIx", "", mpi::why_not()});
  return all;
}

}  // namespace tobi::bootstrap
