// SPDX-License-Identifier: Apache-2.0
// What comes over a TCP port: in whatever pieces it comes, it is taken, waited for or foreign, and what is taken is
// what was there.
#include "bootstrap/tcp/meeting.hpp"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "bootstrap/tcp/messages.hpp"

namespace tcp = tobi::bootstrap::tcp;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t bytes) {
  const std::string all(reinterpret_cast<const char*>(data), bytes);
  std::string in;
  std::string taken;
  const std::size_t step = bytes == 0 ? 1 : 1 + data[0] % 61u;
  for (std::size_t at = 0; at < all.size(); at += step) {
    in += all.substr(at, step);
    tcp::reading what{};
    while ((what = tcp::look_at(in)) == tcp::reading::whole) {
      const bool small = tcp::look_at(in, tcp::of_a_newcomer) == tcp::reading::whole;
      const tcp::message m = tcp::take_from(in);
      if (small && m.bytes.size() > tcp::of_a_newcomer.bytes) std::abort();
      taken += tcp::to_bytes(m.what, m.words, m.bytes);
      std::string again;
      const bool good = tcp::read_values(m.bytes, 4, [&](int rank, std::string_view key, std::string_view value) {
        tcp::add_value(again, rank, key, value);
      });
      if (good && again != m.bytes) std::abort();
    }
    if (what == tcp::reading::foreign) break;
  }
  if (all.substr(0, taken.size()) != taken) std::abort();
  std::string host;
  std::uint16_t port = 0;
  if (tcp::parse_meeting_place(all, host, port) && (host.empty() || port == 0)) std::abort();
  return 0;
}
