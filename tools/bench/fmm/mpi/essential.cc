// SPDX-License-Identifier: Apache-2.0
#include "tools/bench/fmm/mpi/essential.hpp"

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <numbers>

namespace tobi_bench::fmm_mpi {

namespace {

/// A message: this, the cells, their multipole expansions, and bodies.
struct header {
  std::uint64_t cells, bodies;
};

double distance(const laplace::vec3& at, const box& b) {
  const auto beyond = [](double x, double low, double high) { return std::max({0.0, low - x, x - high}); };
  return std::hypot(beyond(at.x, b.low.x, b.high.x), beyond(at.y, b.low.y, b.high.y), beyond(at.z, b.low.z, b.high.z));
}

/// Whether a source is far enough from each cell of its own size, or a smaller one, that has a body in TARGETS. The
/// center of such a cell may be outside.
bool is_far(const cell& source, const box& targets, double theta) {
  const double to_center = distance(source.center, targets) - std::numbers::sqrt3 * source.radius;
  return to_center * theta > 2.0 * source.radius;
}

/// What process TARGETS needs of a tree.
std::vector<std::byte> pack(const method& how, const source_tree& own, const box& targets) {
  std::vector<cell> cells{own.cells[0]};
  std::vector<std::uint32_t> from{0};
  std::uint32_t bodies = 0;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    cell& c = cells[i];
    if (is_far(c, targets, how.theta)) {
      c.bodies = 0;
      c.child_count = 0;
    } else if (c.is_leaf()) {
      c.first = bodies;
      bodies += c.bodies;
    } else {
      const std::uint32_t first = c.children, count = c.child_count;
      c.children = static_cast<std::uint32_t>(cells.size());
      cells.insert(cells.end(), own.cells.begin() + first, own.cells.begin() + first + count);
      for (std::uint32_t k = 0; k < count; ++k) from.push_back(first + k);
    }
  }
  const std::size_t expansion = laplace::coefficients(how.order) * sizeof(laplace::coefficient);
  const header h{cells.size(), bodies};
  std::vector<std::byte> bytes(sizeof h + cells.size() * (sizeof(cell) + expansion) + bodies * sizeof(laplace::body));
  std::byte* to = bytes.data();
  const auto put = [&](const void* what, std::size_t size) {
    std::memcpy(to, what, size);
    to += size;
  };
  put(&h, sizeof h);
  put(cells.data(), cells.size() * sizeof(cell));
  for (const std::uint32_t number : from) {
    put(own.multipoles + number * laplace::coefficients(how.order), expansion);
  }
  for (std::size_t i = 0; i < cells.size(); ++i) {
    if (!cells[i].is_leaf() || cells[i].is_cut()) continue;
    put(own.bodies + own.cells[from[i]].first, cells[i].bodies * sizeof(laplace::body));
  }
  return bytes;
}

source_tree unpacked(const method& how, const std::vector<std::byte>& bytes) {
  header h;
  std::memcpy(&h, bytes.data(), sizeof h);
  const std::byte* const cells = bytes.data() + sizeof h;
  const std::byte* const multipoles = cells + h.cells * sizeof(cell);
  const std::byte* const bodies =
      multipoles + h.cells * laplace::coefficients(how.order) * sizeof(laplace::coefficient);
  return {{reinterpret_cast<const cell*>(cells), h.cells},
          reinterpret_cast<const laplace::coefficient*>(multipoles),
          reinterpret_cast<const laplace::body*>(bodies)};
}

constexpr int tag = 1;

}  // namespace

box box_of(const particles& all) {
  constexpr double infinite = std::numeric_limits<double>::infinity();
  box b{{infinite, infinite, infinite}, {-infinite, -infinite, -infinite}};
  for (const laplace::body& one : all.bodies) {
    b.low = {std::min(b.low.x, one.at.x), std::min(b.low.y, one.at.y), std::min(b.low.z, one.at.z)};
    b.high = {std::max(b.high.x, one.at.x), std::max(b.high.y, one.at.y), std::max(b.high.z, one.at.z)};
  }
  return b;
}

// Each begins with the process behind it, so that no process gets all messages at once.
essential_trees::essential_trees(team& with, const method& how, const tree& own, const particles& all)
    : with_(with), how_(how) {
  const std::vector<box> boxes = with.gather_all(box_of(all));
  if (all.size() == 0) return;
  for (int i = 1; i < with.size(); ++i) {
    const int rank = (with.rank() + i) % with.size();
    if (!boxes[static_cast<std::size_t>(rank)].is_empty()) sent_.push_back({rank, {}});
  }
  expected_ = sent_.size();
  const source_tree whole = own.as_source(all);
  const auto count = static_cast<std::ptrdiff_t>(sent_.size());
#pragma omp parallel for schedule(dynamic) num_threads(how.threads) if (how.threads > 1)
  for (std::ptrdiff_t i = 0; i < count; ++i) {
    message& m = sent_[static_cast<std::size_t>(i)];
    m.bytes = pack(how, whole, boxes[static_cast<std::size_t>(m.from_or_to)]);
  }
  for (message& m : sent_) {
    if (m.bytes.size() > INT_MAX) {
      std::fprintf(stderr, "fmm-mpi: a tree of more than 2 GB is no message of MPI: take more processes\n");
      MPI_Abort(with.all(), 1);
    }
    MPI_Isend(m.bytes.data(), static_cast<int>(m.bytes.size()), MPI_BYTE, m.from_or_to, tag, with.all(), &m.request);
    sent_bytes_ += m.bytes.size();
    progress();
  }
}

essential_trees::~essential_trees() {
  with_.waiting([&] {
    for (message& m : sent_) MPI_Wait(&m.request, MPI_STATUS_IGNORE);
  });
}

void essential_trees::progress() {
  while (received_.size() < expected_) {
    int has_come = 0;
    MPI_Message probed;
    MPI_Status status;
    MPI_Improbe(MPI_ANY_SOURCE, tag, with_.all(), &has_come, &probed, &status);
    if (has_come == 0) return;
    int size = 0;
    MPI_Get_count(&status, MPI_BYTE, &size);
    message& m =
        received_.emplace_back(message{status.MPI_SOURCE, std::vector<std::byte>(static_cast<std::size_t>(size))});
    MPI_Imrecv(m.bytes.data(), size, MPI_BYTE, &probed, &m.request);
  }
}

std::span<const source_tree> essential_trees::all_received() {
  with_.waiting([&] {
    while (received_.size() < expected_) {
      MPI_Probe(MPI_ANY_SOURCE, tag, with_.all(), MPI_STATUS_IGNORE);
      progress();
    }
    for (message& m : received_) MPI_Wait(&m.request, MPI_STATUS_IGNORE);
  });
  // In the order of processes, so that sums do not depend on which message was first.
  std::sort(received_.begin(), received_.end(),
            [](const message& a, const message& b) { return a.from_or_to < b.from_or_to; });
  for (const message& m : received_) trees_.push_back(unpacked(how_, m.bytes));
  return trees_;
}

}  // namespace tobi_bench::fmm_mpi
