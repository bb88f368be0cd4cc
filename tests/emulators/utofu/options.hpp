// SPDX-License-Identifier: Apache-2.0
// What the emulated device is like: TOFU_EMULATOR, a list with commas between; and what it does about a breach of the
// interface's rules.
#pragma once

#include <cstdint>
#include <string>

#include "transports/utofu/interface.hpp"

namespace emulated {

namespace utofu = tobi::transports::utofu;
using utofu::code;
namespace flag = utofu::flag;

/// What STRONG_ORDER orders: a write (put, ARMW) behind earlier writes, which is what programs in public rely on; or
/// any request behind any.
enum class ordering : std::uint8_t { writes, all };
/// A write into a 256-byte line whose other bytes a CPU has changed while the write was under way.
enum class shared_lines : std::uint8_t { ignore, count, report, lose };

struct options {
  bool tofu1 = false;           // no ARMW, no piggyback; puts and gets of multiples of 4 bytes
  bool lax = false;             // a breach returns the documented code; else one sentence and abort()
  bool always_notices = false;  // each put that lands leaves a notice at its target, asked for or not
  ordering order = ordering::writes;
  shared_lines lines = shared_lines::ignore;
  std::uint64_t seed = 1;
  std::uint64_t latency_ns = 0;  // from a request's arrival to its execution
  std::uint64_t tnis = 6;
  std::uint64_t toq = 128;   // entries of a VCQ's TOQ
  std::uint64_t mrq = 4096;  // of its MRQ
  std::uint64_t desc = 64;   // bytes of a descriptor at most, as it is said
  std::string machine = "here";
  std::uint8_t coords[utofu::coordinates] = {};
};
/// Read from the environment at the first call. A value that is not good ends the process.
const options& in_force();

inline constexpr std::size_t line_bytes = 256;
inline constexpr std::size_t putget_most = 16'777'215;
inline constexpr std::size_t mtu = 1920;

/// One sentence and abort(), or CODE where TOFU_EMULATOR has `lax`.
[[gnu::format(printf, 2, 3)]] int breach(int code, const char* format, ...);

}  // namespace emulated
