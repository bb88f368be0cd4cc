// SPDX-License-Identifier: Apache-2.0
#include "libcore/trace/trace_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>

#include "libcore/base/plain_text.hpp"

namespace tobi::trace {

namespace {

constexpr std::array<std::string_view, event_kinds> kind_names{
    "run",     "task", "idle",  "steal",      "suspend",       "ready",  "resume",
    "publish", "wait", "fetch", "write_back", "await_release", "update", "phase"};
constexpr std::array<std::string_view, steal_phases> phase_names{"empty_check",    "lock",   "steal",
                                                                 "stack_transfer", "unlock", "resume"};

// The viewer takes a thread whose number is its process's for the main thread: the two kinds of numbers are kept apart.
constexpr int first_process = 1'000'000;
constexpr int first_thread = 1;

std::string_view name_of(event_kind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

void number(std::string& text, std::uint64_t n) {
  std::array<char, 24> digits{};
  text.append(digits.data(), std::to_chars(digits.data(), digits.data() + digits.size(), n).ptr);
}
void field(std::string& text, std::string_view name, std::uint64_t n) {
  text.append(",\"").append(name).append("\":");
  number(text, n);
}
// Nanoseconds as microseconds with three digits.
void microseconds(std::string& text, double ns) {
  const double whole = std::floor(ns);
  if (whole < 0) text += '-';
  const auto n = static_cast<std::uint64_t>(std::abs(whole));
  number(text, n / 1000);
  const auto rest = static_cast<unsigned>(n % 1000);
  text += '.';
  text += static_cast<char>('0' + rest / 100);
  text += static_cast<char>('0' + rest / 10 % 10);
  text += static_cast<char>('0' + rest % 10);
}
// How many of the bytes that WORDS begin with are one character of UTF-8 (RFC 3629), or 0. A path and the name of a
// phase may be of any bytes.
std::size_t character(std::string_view words) {
  const auto byte = [words](std::size_t i) { return i < words.size() ? static_cast<unsigned char>(words[i]) : 0u; };
  const unsigned first = byte(0);
  const std::size_t bytes = first < 0x80   ? 1
                            : first < 0xc2 ? 0
                            : first < 0xe0 ? 2
                            : first < 0xf0 ? 3
                            : first < 0xf5 ? 4
                                           : 0;
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // Longer forms of what has a shorter one, surrogates, and what lies behind the last character.
  const unsigned second = byte(1);
  if ((first == 0xe0 && second < 0xa0) || (first == 0xed && second > 0x9f) || (first == 0xf0 && second < 0x90) ||
      (first == 0xf4 && second > 0x8f)) {
    return 0;
  }
  return bytes;
}

void quoted(std::string& text, std::string_view words) {
  text += '"';
  while (!words.empty()) {
    const std::size_t bytes = character(words);
    const char c = words[0];
    if (bytes > 1) {
      text.append(words.substr(0, bytes));
    } else if (bytes == 0) {
      text += '?';
    } else {
      if (c == '"' || c == '\\') text += '\\';
      text += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
    }
    words.remove_prefix(std::max<std::size_t>(bytes, 1));
  }
  text += '"';
}

void rank_facts(std::string& text, int rank, const trace_rank& r) {
  text.append("{\"rank\":");
  number(text, static_cast<std::uint64_t>(rank));
  field(text, "node", static_cast<std::uint64_t>(r.node));
  field(text, "events", r.events);
  field(text, "lost", r.lost);
  text += ",\"clock_offset_ns\":" + std::to_string(r.clock.offset_ns());
  text += ",\"clock_drift_ppm\":" + base::fixed(r.clock.drift_ppm(), 6);
  text += ",\"clock_error_ns\":" + std::to_string(r.clock.error_ns());
  field(text, "steals_ok", r.totals.steals_ok);
  field(text, "steals_empty", r.totals.steals_empty);
  field(text, "steals_lost_race", r.totals.steals_lost_race);
  field(text, "contexts_stolen", r.totals.contexts_stolen);
  field(text, "stolen_bytes", r.totals.stolen_bytes);
  for (const event_kind k : {event_kind::run, event_kind::task, event_kind::suspend, event_kind::ready,
                             event_kind::resume, event_kind::publish, event_kind::wait, event_kind::fetch,
                             event_kind::write_back, event_kind::await, event_kind::update}) {
    field(text, name_of(k), r.totals.events[static_cast<std::size_t>(k)]);
  }
  field(text, "checkouts", r.memory.checkouts);
  field(text, "hits", r.memory.hits);
  field(text, "fetched_bytes", r.memory.fetched_bytes);
  field(text, "copied_bytes", r.memory.copied_bytes);
  field(text, "written_bytes", r.memory.written_bytes);
  text += '}';
}

}  // namespace

void trace_encoder::begin() {
  const auto ranks = static_cast<int>(facts_.ranks.size());
  text_.append("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"format\":\"tobiuo-trace\",\"version\":4");
  field(text_, "workers", facts_.ranks.size());
  text_.append(",\"transport\":");
  quoted(text_, facts_.transport);
  text_.append(",\"sched\":");
  quoted(text_, facts_.sched);
  text_.append(",\"deque\":");
  quoted(text_, facts_.deque);
  text_.append(",\"ranks\":[");
  for (int r = 0; r < ranks; ++r) {
    if (r != 0) text_ += ',';
    rank_facts(text_, r, facts_.ranks[r]);
  }
  text_.append("],\"fetched_at\":[");
  for (const named_site& site : facts_.sites) {
    if (&site != facts_.sites.data()) text_ += ',';
    text_.append("{\"place\":");
    quoted(text_, site.name);
    field(text_, "pieces", site.fetched.pieces);
    field(text_, "bytes", site.fetched.bytes);
    field(text_, "waited_ns", site.fetched.waited_ns);
    text_ += '}';
  }
  text_.append("]},\"traceEvents\":[");
  int named = -1;
  for (int r = 0; r < ranks; ++r) {
    const int node = facts_.ranks[r].node;
    const auto meta = [&](std::string_view what) {
      line();
      text_.append("{\"ph\":\"M\",\"pid\":").append(std::to_string(first_process + node));
      text_.append(",\"tid\":").append(std::to_string(r + first_thread));
      text_.append(",\"name\":\"").append(what).append("\",\"args\":{");
    };
    if (node > named) {
      named = node;
      meta("process_name");
      text_.append("\"name\":\"node ").append(std::to_string(node)).append("\"}}");
    }
    meta("thread_name");
    text_.append("\"name\":\"worker ").append(std::to_string(r)).append("\"}}");
    meta("thread_sort_index");
    text_.append("\"sort_index\":").append(std::to_string(r)).append("}}");
  }
}

void trace_encoder::line() {
  text_.append(first_ ? "\n" : ",\n");
  first_ = false;
}

double trace_encoder::since_begin(int rank, std::uint64_t ns) const {
  return facts_.ranks[rank].clock.to_reference(ns) - static_cast<double>(facts_.begin_ns);
}

void trace_encoder::open(int rank, std::string_view name, char phase, std::uint64_t ns) {
  open_at(rank, name, phase, since_begin(rank, ns));
}

void trace_encoder::open_at(int rank, std::string_view name, char phase, double ns) {
  line();
  text_.append("{\"ph\":\"");
  text_ += phase;
  text_.append("\",\"pid\":");
  number(text_, static_cast<std::uint64_t>(first_process + facts_.ranks[rank].node));
  field(text_, "tid", static_cast<std::uint64_t>(rank + first_thread));
  text_.append(",\"name\":\"").append(name).append("\",\"ts\":");
  microseconds(text_, ns);
}

// The duration is the difference of the two rounded times: rounded by itself an end could lie beyond that of the
// interval around it.
void trace_encoder::slice(int rank, std::string_view name, std::uint64_t begin, std::uint64_t end) {
  open(rank, name, 'X', begin);
  text_.append(",\"dur\":");
  microseconds(text_, std::floor(since_begin(rank, end)) - std::floor(since_begin(rank, begin)));
}

// A slice of its worker's track is around each end, to which the viewer ties it.
void trace_encoder::arrow_end(int rank, std::string_view name, char phase, std::string_view id, std::uint64_t of,
                              double ns) {
  open_at(rank, name, phase, ns);
  text_.append(",\"cat\":\"arrow\",\"id\":\"").append(id);
  number(text_, of);
  text_ += '"';
  if (phase == 'f') text_.append(",\"bp\":\"e\"");
  text_ += '}';
}

// What has gone from one worker to another: a stolen continuation, and the news that a task may go on. A theft is
// one-sided, so its victim knows nothing of it, and the thief's clock says when.
void trace_encoder::arrows(int rank, const trace::event& e) {
  const bool got = e.kind == event_kind::steal &&
                   (e.result == steal_result::taken || e.result == steal_result::context) && e.peer >= 0;
  if (got && e.peer < static_cast<int>(facts_.ranks.size())) {
    ++arrows_;
    arrow_end(e.peer, "stolen", 's', "s", arrows_, since_begin(rank, e.begin));
    arrow_end(rank, "stolen", 'f', "s", arrows_, since_begin(rank, e.end));
  } else if (e.kind == event_kind::ready) {
    arrow_end(rank, "goes on", 's', "j", e.value, since_begin(rank, e.end));
  } else if (e.kind == event_kind::resume) {
    arrow_end(rank, "goes on", 'f', "j", e.value, since_begin(rank, e.end));
  }
}

void trace_encoder::event(int rank, const trace::event& e) {
  described(rank, e);
  arrows(rank, e);
}

void trace_encoder::described(int rank, const trace::event& e) {
  if (e.kind == event_kind::ready || e.kind == event_kind::publish || e.kind == event_kind::phase) {
    open(rank, name_of(e.kind), 'i', e.end);  // a worker's moments are in order, also where one was found late
    text_.append(",\"s\":\"t\"");
  } else {
    slice(rank, name_of(e.kind), e.begin, e.end);
  }
  switch (e.kind) {
    case event_kind::steal: {
      const bool context = e.result == steal_result::context;
      const bool ok = e.result == steal_result::taken || context;
      text_.append(",\"args\":{\"victim\":");
      number(text_, static_cast<std::uint64_t>(e.peer));
      text_.append(",\"result\":");
      quoted(text_, context ? "context" : ok ? "success" : e.result == steal_result::empty ? "empty" : "lost race");
      if (ok) {
        if (!context) field(text_, "bytes", e.value);
        for (std::size_t p = 0; p < steal_phases; ++p) {
          if (e.phase_ns[p] == 0) continue;
          text_.append(",\"").append(phase_names[p]).append("_ns\":");
          number(text_, e.phase_ns[p]);
        }
      } else {
        field(text_, "attempts", e.count);
        field(text_, "spent_ns", e.value);
      }
      text_ += '}';
      break;
    }
    case event_kind::suspend:
    case event_kind::ready:
    case event_kind::resume:  // as text: a viewer's numbers have 53 bits
      text_.append(",\"args\":{\"join\":\"");
      number(text_, e.value);
      text_ += '"';
      if (e.kind == event_kind::resume) field(text_, "kept_by", static_cast<std::uint64_t>(e.peer));
      if (e.end != e.begin && e.kind == event_kind::ready) field(text_, "for_ns", e.end - e.begin);
      text_ += '}';
      break;
    case event_kind::publish:
    case event_kind::write_back:
      text_.append(",\"args\":{\"bytes\":");
      number(text_, e.value);
      text_ += '}';
      break;
    case event_kind::update:
      text_.append(",\"args\":{\"numbers\":");
      number(text_, e.value);
      text_ += '}';
      break;
    case event_kind::wait:
    case event_kind::await:
      text_.append(",\"args\":{\"peer\":");
      number(text_, static_cast<std::uint64_t>(e.peer));
      text_ += '}';
      break;
    case event_kind::fetch:
      text_.append(",\"args\":{\"bytes\":");
      number(text_, e.value);
      field(text_, "pieces", e.count);
      field(text_, "home", static_cast<std::uint64_t>(e.peer));
      text_ += '}';
      break;
    case event_kind::phase: {
      std::array<char, sizeof e.phase_ns> name{};
      std::memcpy(name.data(), e.phase_ns.data(), longest_phase);
      text_.append(",\"args\":{\"name\":");
      quoted(text_, name.data());
      text_ += '}';
      break;
    }
    default:
      break;
  }
  text_ += '}';
}

void trace_encoder::end() { text_.append("\n").append(trace_last_line).append("\n"); }

}  // namespace tobi::trace
