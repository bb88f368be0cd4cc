// SPDX-License-Identifier: Apache-2.0
// The settings: every TOBI_* environment variable, its type, its default, its help. What the folders above are told
// they declare themselves (setting_rules.hpp); one table has all. Read by the first process, before any worker exists;
// bad values end the program with one sentence and status 2, unknown TOBI_* names draw a warning with the nearest known
// name.
#pragma once

#include <any>
#include <cstddef>
#include <cstdint>
#include <list>
#include <string>
#include <string_view>
#include <vector>

#include "libcore/base/log.hpp"

namespace tobi::base {

enum class deque_kind : std::uint8_t { steal_word, the };
enum class sched_kind : std::uint8_t { continuation_greedy, continuation_stalling, child_full, child_rtc, adws };
enum class victim_policy : std::uint8_t { near, uniform };
enum class cache_policy : std::uint8_t { none, write_through, write_back, write_back_lazy };
enum class pin_policy : std::uint8_t { automatic, none };

/// The values of the folders above, each a struct of its own type, as it is by default until something is changed.
class setting_groups {
 public:
  template <class Group>
  [[nodiscard]] Group& of() {
    for (std::any& held : held_) {
      if (Group* found = std::any_cast<Group>(&held)) return *found;
    }
    return held_.emplace_back().emplace<Group>();
  }
  template <class Group>
  [[nodiscard]] const Group& of() const {
    static const Group defaults;
    for (const std::any& held : held_) {
      if (const Group* found = std::any_cast<Group>(&held)) return *found;
    }
    return defaults;
  }

 private:
  std::list<std::any> held_;  // a list: what of() has returned stays where it is
};

/// TCP ports from LOW to HIGH; 0: any that is free.
struct port_range {
  std::uint16_t low = 0;
  std::uint16_t high = 0;
  bool operator==(const port_range&) const = default;
};

/// The values in force. Forked workers inherit them.
struct settings {
  int workers = 0;                 // 0: one per core that this process may use
  int nodes = 0;                   // treat the local workers as so many nodes; 0: they are one
  std::string bootstrap = "auto";  // auto, or what says which processes are in the job
  int listen = 0;                  // so many processes meet over TCP, and this one listens; 0: no
  std::string connect;             // HOST or HOST:PORT of the one that listens; "": no
  int peer_timeout_s = 30;         // another host may be silent for so long; 0: nobody watches
  port_range ports;                // on which the hosts of a job meet
  std::string transport = "auto";  // auto, or a name of the registry
  std::string mpi = "auto";        // auto, openmpi, mpich: the launcher's, so the bootstrap's and the transport's
  deque_kind deque = deque_kind::steal_word;           // the protocol between victim and thieves
  sched_kind sched = sched_kind::continuation_greedy;  // what is stolen, and what a join does that must wait
  victim_policy victims = victim_policy::near;         // which workers an idle one asks for work
  std::size_t task_stack_bytes = 256u << 10;           // of each task that has begun, under child_full
  bool local_collection = true;                        // remote frees are found by the owner, not put into its queue
  std::size_t stack_bytes = 64u << 20;                 // uni-address region of a worker, at most 128M
  bool stack_given = false;                            // as heap_given
  std::size_t heap_bytes = 1u << 30;                   // registered heap of a worker: address space, not memory
  bool heap_given = false;               // a fabric that pins memory starts smaller where the user has not chosen
  std::size_t deque_entries = 1u << 20;  // how many forks may be nested on one worker
  cache_policy caching = cache_policy::write_back_lazy;
  std::size_t cache_bytes = 64u << 20;              // of global memory of other nodes, per worker
  bool cache_shared = true;                         // the caches of a node's workers are copied from
  std::size_t block_bytes = 64u << 10;              // of global memory: what is mapped; a power of two, whole pages
  std::size_t sub_block_bytes = 4u << 10;           // what is fetched
  std::size_t read_ahead_bytes = 512u << 10;        // what is fetched before it is asked for; 0: nothing is
  std::size_t global_bytes = std::size_t{1} << 38;  // addresses for collective allocations
  std::size_t map_limit = 0;                        // kernel mappings for global memory; 0: half of the kernel's limit
  bool debug_global = false;                        // report checkouts that overlap without being ordered
  pin_policy pin = pin_policy::automatic;           // bind each worker to a core where there are enough
  bool label = false;                               // a rank and host before each line
  bool stats = false;                               // print the statistics at the end of the job
  std::string trace;                                // file of the timeline; "": none
  std::size_t trace_bytes = 16u << 20;              // a worker's ring of events
  std::string work_span;                            // file of a program's work and span; "": they are not measured
  bool debug_migrate = false;                       // move the continuation at every fork
  log_level log = log_level::warn;
  setting_groups above;

  /// The values of a folder above: of<transports::verbs::settings>().
  template <class Group>
  [[nodiscard]] Group& of() {
    return above.of<Group>();
  }
  template <class Group>
  [[nodiscard]] const Group& of() const {
    return above.of<Group>();
  }
};

[[nodiscard]] constexpr bool steals_children(sched_kind kind) noexcept {
  return kind == sched_kind::child_full || kind == sched_kind::child_rtc;
}

/// Which process decides about a setting where a launcher has started several processes. Each reads an environment of
/// its own, and a launcher may have given the user's to some nodes only. Forked workers need none of this: they have
/// one environment.
enum class agreement : std::uint8_t {
  given,    // rank 0, for all: protocols, addresses or what a task may do depend on it. A rank that says otherwise is
            // refused
  offered,  // rank 0, for processes that do not say: machines may differ in it
  own       // each process: it is needed before others are known, or looked at on one rank alone
};

/// One row of the table, for tobi-info and for messages.
struct setting_row {
  std::string_view name;  // "TOBI_WORKERS"
  agreement agrees;
  std::string_view type;      // "integer", "size", "choice", "flag", "name"
  std::string choices;        // "steal_word|the", or "1..65535"; "" where another part of the program knows them
  std::string_view help;      // one line
  std::string default_value;  // as a user would type it, or what it means
  std::string value;          // in force, likewise
  std::string source;         // "default" or "environment"
};

/// Reads and checks the environment. On a bad value: fatal(..., exit_usage) with the good ones listed. Warns of each
/// unknown TOBI_* name once a process.
[[nodiscard]] settings read_settings();
/// The table with the values in force, for tobi-info. Same checks as read_settings.
[[nodiscard]] std::vector<setting_row> settings_table();

/// "16M" to bytes; K, M, G, T are powers of 1024, with an optional B or iB after them. Returns false on
/// anything else, negative numbers and overflow included.
[[nodiscard]] bool parse_size(std::string_view text, std::uint64_t& bytes) noexcept;
/// Bytes as a user would type them: 67108864 to "64M".
[[nodiscard]] std::string format_size(std::uint64_t bytes);
/// "0x2000".
[[nodiscard]] std::string format_hex(std::uint64_t n);
/// The entry of a LIST "a,b,c" that is RANK's turn.
[[nodiscard]] std::string dealt(const std::string& list, int rank);

}  // namespace tobi::base
