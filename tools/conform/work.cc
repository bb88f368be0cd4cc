// SPDX-License-Identifier: Apache-2.0
#include "tools/conform/work.hpp"

#include "libcore/base/text.hpp"

namespace tobi::conformance {

namespace {

struct row {
  std::string_view name;
  bool (*claimed)(const transports::capabilities&);  // null: no port is without
  std::vector<std::string_view> rules;
  std::string_view next;
};

bool notices(const transports::capabilities& c) { return c.put_notify; }
bool atomics(const transports::capabilities& c) { return c.fetch_add && c.compare_swap; }
bool chains(const transports::capabilities& c) { return c.chains(); }
bool passive(const transports::capabilities& c) { return c.passive_rma && c.passive_amo && !c.needs_progress; }
bool sleeps(const transports::capabilities& c) { return c.has_wait_fd; }
bool any_thread(const transports::capabilities& c) { return c.any_thread; }
bool peer_errors(const transports::capabilities& c) { return c.peer_errors; }

const std::vector<row>& rows() {
  static const std::vector<row> all = {
      {"address",
       nullptr,
       {"address"},
       "address() returns the bytes that peers need to reach this rank, connect() takes those of all (setup.cc)"},
      {"register",
       nullptr,
       {"register", "any-memory", "pins", "grows", "deregistered-key", "deregistered-region"},
       "register_memory() registers with the device and fills at most 64 bytes of the key (setup.cc)"},
      {"attach",
       nullptr,
       {"attach", "forged-key", "direct-map"},
       "attach() checks a peer's key and gives it a small number for operations (setup.cc)"},
      {"put",
       nullptr,
       {"put", "put-integrity", "inline-put", "put-max", "registered-buffers", "stores-next-to-puts"},
       "post() checks a put, cuts it where the device takes less than put_max, and posts it (datapath.cc)"},
      {"get", nullptr, {"get", "get-integrity"}, "post() does the same for a get (datapath.cc)"},
      {"flush",
       nullptr,
       {"flush", "flush-of-nothing", "flush-completes-gets", "unordered", "words-do-not-tear", "flush-is-at-the-target",
        "flush-and-a-sleeper", "word-written-once", "complete-put-is-seen", "back-pressure"},
       "flush() takes completions, and returns ok once all to that rank is complete at the target (datapath.cc)"},
      {"refusals",
       nullptr,
       {"out-of-range", "misaligned-atomic", "unknown-region", "bad-chain-has-no-effect", "chain-max",
        "unclaimed-is-unsupported"},
       "post() checks a whole chain before the first operation (transports/cpu_ops.hpp has in_range)"},
      {"notices",
       notices,
       {"notices", "msg-max"},
       "put_notify() and poll_notice(); without them servers of atomics look for requests"},
      {"atomics",
       atomics,
       {"fetch-add-exact", "fetch-add-unique", "compare-swap-exact", "compare-swap-excludes", "amo-scope-host",
        "amo-in-calls", "owner-and-thieves", "amo-seen-by-the-cpu"},
       "fetch_add and compare_swap; where the device has none, soft::with_amo_server makes them of puts"},
      {"chains",
       chains,
       {"chain-order-of-puts", "chain-order-put-then-get", "chain-order-of-one-word", "chain-order-of-gets",
        "claim-then-get", "chain-guard"},
       "several operations in order by one doorbell; a steal takes a round trip less with them"},
      {"passivity",
       passive,
       {"passive-rma", "passive-amo", "needs-progress"},
       "what completes while the target computes is claimed, where it is measured (measure()); else owners poll"},
      {"sleep", sleeps, {"wait-fd-wakes"}, "wait_fd() and may_sleep(); without them idle workers sleep for a time"},
      {"threads", any_thread, {"any-thread"}, "calls from one thread after another; without, only one thread calls"},
      {"deaths",
       peer_errors,
       {"peer-death"},
       "peer_lost of a peer that has died, and of no other; without it a job may wait for the launcher to tell"},
  };
  return all;
}

}  // namespace

std::string_view what_to_write(std::string_view rule) {
  for (const row& r : rows()) {
    if (r.name == rule) return r.next;
  }
  return "";
}

std::vector<step_of_work> checklist(const std::map<std::string_view, verdict>& rules,
                                    const transports::capabilities& caps) {
  std::vector<step_of_work> steps;
  for (const row& r : rows()) {
    std::string failed;
    std::size_t passed = 0;
    for (const std::string_view name : r.rules) {
      const auto found = rules.find(name);
      if (found == rules.end()) continue;
      if (found->second == verdict::fail) base::add_item(failed, name);
      if (found->second == verdict::pass) ++passed;
    }
    step_of_work step{r.name, "done", ""};
    if (!failed.empty()) {
      step.state = "wrong";
      step.why = failed + "; " + std::string(r.next);
    } else if (r.claimed != nullptr && !r.claimed(caps)) {
      step.state = "missing";
      step.why = r.next;
    } else if (passed == 0) {
      step.state = r.claimed == nullptr ? "missing" : "not asked";
      step.why = r.claimed == nullptr ? std::string(r.next) : "no rule could ask here";
    }
    steps.push_back(step);
  }
  return steps;
}

}  // namespace tobi::conformance
