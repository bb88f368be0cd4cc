// SPDX-License-Identifier: Apache-2.0
// Branch and bound: the shortest round tour through some cities. All tasks read the length of the best tour so far
// (shared_min), and drop routes that are as long already. A task_group runs the children of a route, whose number
// nobody knows before. Each worker keeps the best tour that it has found (per_worker), and the best one is printed.
#include <array>
#include <cmath>
#include <cstdio>
#include <tobi/tobi.hpp>

constexpr unsigned cities = 12;
constexpr long endless = 1'000'000'000;

// The lengths of the ways between cities. Every worker has made the same table, and no task changes it.
const auto way = [] {
  const auto place = [](unsigned city, unsigned seed) -> double { return (city * city * seed + city * 104729) % 1009; };
  std::array<std::array<long, cities>, cities> length{};
  for (unsigned a = 0; a < cities; ++a) {
    for (unsigned b = 0; b < cities; ++b)
      length[a][b] = std::lround(std::hypot(place(a, 7919) - place(b, 7919), place(a, 6101) - place(b, 6101)));
  }
  return length;
}();

struct route {
  std::array<unsigned char, cities> stops{};  // the first is city 0
  unsigned count = 1, visited = 1;            // bit i is city i
  long length = 0;
};

void extend(route r, auto best, auto tour) {
  const auto& ways = way[r.stops[r.count - 1]];
  if (r.count == cities) {
    r.length += ways[0];
    if (best.offer(r.length)) *tour = r;
    return;
  }
  tobi::task_group children;
  for (unsigned next = 1; next < cities; ++next) {
    if ((r.visited >> next & 1) != 0 || r.length + ways[next] >= best.get()) continue;
    route longer{r.stops, r.count + 1, r.visited | 1u << next, r.length + ways[next]};
    longer.stops[r.count] = static_cast<unsigned char>(next);
    if (r.count < cities / 2)
      children.run([=] { extend(longer, best, tour); });
    else
      extend(longer, best, tour);  // too little for a task
  }
  children.wait();
}

int main(int argc, char** argv) {
  tobi::runtime rt(argc, argv);
  tobi::shared_min<long> best(rt, endless);
  tobi::per_worker<route> tour(route{.length = endless});
  tobi::run([best = best.handle(), tour = tour.handle()] { extend(route{}, best, tour); });
  const route found = rt.reduce(*tour, [](const route& a, const route& b) { return b.length < a.length ? b : a; });
  long length = 0;
  for (unsigned i = 0; i < cities; ++i) length += way[found.stops[i]][found.stops[(i + 1) % cities]];
  if (rt.rank() == 0) std::printf("%ld is the length of the shortest tour of %u cities\n", length, cities);
  return length == best.value() ? 0 : 1;
}
