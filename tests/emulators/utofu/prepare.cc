// SPDX-License-Identifier: Apache-2.0
// What a request is: every utofu_prepare_*() and, made of it and utofu_post_toq(), every utofu_put(), _get(), _armw().
#include <cstring>

#include "tests/emulators/utofu/calls.hpp"

namespace emulated {

namespace {

constexpr unsigned long known_flags = flag::strong_order | flag::packet_response | flag::remote_mrq_notice |
                                      flag::padding | flag::cache_injection | flag::delay_start | flag::tcq_notice |
                                      flag::local_mrq_notice | 0xful << flag::sps_shift | 0xfful << flag::path_shift;

// What is common to all requests. A code.
int check(utofu::vcq_handle h, std::uint64_t edata, unsigned long flags, const char* what) {
  if (find(h) == nullptr) return breach(code::invalid_vcq_hdl, "%s has a VCQ handle that is none", what);
  if (edata > 0xff) {
    return breach(code::invalid_edata, "%s has edata %llu, of which one byte is sent", what,
                  static_cast<unsigned long long>(edata));
  }
  if ((flags & ~known_flags) != 0)
    return breach(code::invalid_flags, "%s has flags %lx, not all of which are known", what, flags);
  if ((flags & flag::delay_start) != 0) {
    return breach(code::not_supported, "%s has DELAY_START, which needs session mode", what);
  }
  return code::success;
}

int check_bytes(std::size_t bytes, utofu::stadd local, utofu::stadd remote, const char* what) {
  if (bytes == 0 || bytes > putget_most) {
    return breach(code::invalid_size, "%s of %zu bytes is not within 1..%zu", what, bytes, putget_most);
  }
  if (in_force().tofu1 && (bytes % 4 != 0 || local % 4 != 0 || remote % 4 != 0)) {
    return breach(code::invalid_size,
                  "%s of %zu bytes from %llx to %llx is not of multiples of 4, which is all Tofu-1 moves", what, bytes,
                  static_cast<unsigned long long>(local), static_cast<unsigned long long>(remote));
  }
  return code::success;
}

descriptor begin(packet_kind kind, utofu::vcq_id to, utofu::stadd remote, std::uint64_t edata, unsigned long flags) {
  descriptor d;
  d.mark = descriptor::sound;
  d.kind = kind;
  d.to = to;
  d.remote = remote;
  d.edata = static_cast<std::uint8_t>(edata);
  d.flags = static_cast<std::uint32_t>(flags & 0xfffffff);
  d.path = static_cast<std::uint8_t>(flags >> flag::path_shift | vcq_name::unpack(to).path);
  return d;
}

int write_down(const descriptor& d, void* desc, std::size_t* desc_bytes) {
  std::memcpy(desc, &d, sizeof d);
  *desc_bytes = sizeof d;
  return code::success;
}

int prepare_move(packet_kind kind, utofu::vcq_handle h, utofu::vcq_id to, utofu::stadd local, utofu::stadd remote,
                 std::size_t bytes, std::uint64_t edata, unsigned long flags, void* desc, std::size_t* desc_bytes) {
  const char* what = kind == packet_kind::put ? "a put" : "a get";
  if (const int c = check(h, edata, flags, what); c != code::success) return c;
  if (const int c = check_bytes(bytes, local, remote, what); c != code::success) return c;
  if (!find(h)->registered(local, bytes)) {
    return breach(code::invalid_stadd, "%s of %zu bytes has local memory that is not registered: STADD %llx", what,
                  bytes, static_cast<unsigned long long>(local));
  }
  descriptor d = begin(kind, to, remote, edata, flags);
  d.bytes = static_cast<std::uint32_t>(bytes);
  d.local = local;
  return write_down(d, desc, desc_bytes);
}

int prepare_piggyback(utofu::vcq_handle h, utofu::vcq_id to, const void* data, utofu::stadd remote, std::size_t bytes,
                      std::size_t most, std::uint64_t edata, unsigned long flags, void* desc, std::size_t* desc_bytes) {
  if (const int c = check(h, edata, flags, "a piggyback put"); c != code::success) return c;
  if (in_force().tofu1) return code::not_supported;
  if (bytes == 0 || bytes > most) {
    return breach(code::invalid_size, "a piggyback put of %zu bytes is not within 1..%zu", bytes, most);
  }
  descriptor d = begin(packet_kind::put, to, remote, edata, flags);
  d.bytes = static_cast<std::uint32_t>(bytes);
  d.body = descriptor_body::piggyback;
  std::memcpy(d.data, data, bytes);
  return write_down(d, desc, desc_bytes);
}

int prepare_armw(utofu::vcq_handle h, utofu::vcq_id to, armw_kind op, std::uint8_t width, std::uint64_t value,
                 std::uint64_t expected, utofu::stadd remote, std::uint64_t edata, unsigned long flags, void* desc,
                 std::size_t* desc_bytes) {
  if (in_force().tofu1) return code::not_supported;
  if (const int c = check(h, edata, flags, "an ARMW"); c != code::success) return c;
  if (op < armw_kind::swap || op > armw_kind::compare) {
    return breach(code::invalid_op, "an ARMW has the operation %d, which is none", static_cast<int>(op));
  }
  if (remote % width != 0) {
    return breach(code::invalid_stadd, "an ARMW of %d bytes is at STADD %llx, which is not aligned to them", width,
                  static_cast<unsigned long long>(remote));
  }
  descriptor d = begin(packet_kind::armw, to, remote, edata, flags);
  d.op = op;
  d.width = width;
  d.operand = {value, expected};
  return write_down(d, desc, desc_bytes);
}

// A request that was prepared as PREPARED says is posted.
int post_one(utofu::vcq_handle h, int prepared, descriptor& d, void* cbdata) {
  return prepared == code::success ? utofu_post_toq(h, &d, sizeof d, cbdata) : prepared;
}

armw_kind kind_of(utofu::armw_op op) {
  const int n = static_cast<int>(op);
  return n < 1 || n > 5 ? static_cast<armw_kind>(0) : static_cast<armw_kind>(n);
}

}  // namespace

}  // namespace emulated

using namespace emulated;

#define OF_MOVE utofu::vcq_handle h, utofu::vcq_id to, utofu::stadd local, utofu::stadd remote, std::size_t bytes
#define OF_ALL std::uint64_t edata, unsigned long flags
#define INTO void *desc, std::size_t *desc_bytes

int utofu_prepare_put(OF_MOVE, OF_ALL, INTO) {
  return prepare_move(packet_kind::put, h, to, local, remote, bytes, edata, flags, desc, desc_bytes);
}
int utofu_prepare_get(OF_MOVE, OF_ALL, INTO) {
  return prepare_move(packet_kind::get, h, to, local, remote, bytes, edata, flags, desc, desc_bytes);
}
int utofu_prepare_put_piggyback(utofu::vcq_handle h, utofu::vcq_id to, void* data, utofu::stadd remote,
                                std::size_t bytes, OF_ALL, INTO) {
  return prepare_piggyback(h, to, data, remote, bytes, 32, edata, flags, desc, desc_bytes);
}
int utofu_prepare_put_piggyback8(utofu::vcq_handle h, utofu::vcq_id to, std::uint64_t data, utofu::stadd remote,
                                 std::size_t bytes, OF_ALL, INTO) {
  return prepare_piggyback(h, to, &data, remote, bytes, 8, edata, flags, desc, desc_bytes);
}
int utofu_prepare_armw4(utofu::vcq_handle h, utofu::vcq_id to, utofu::armw_op op, std::uint32_t value,
                        utofu::stadd remote, OF_ALL, INTO) {
  return prepare_armw(h, to, kind_of(op), 4, value, 0, remote, edata, flags, desc, desc_bytes);
}
int utofu_prepare_armw8(utofu::vcq_handle h, utofu::vcq_id to, utofu::armw_op op, std::uint64_t value,
                        utofu::stadd remote, OF_ALL, INTO) {
  return prepare_armw(h, to, kind_of(op), 8, value, 0, remote, edata, flags, desc, desc_bytes);
}
int utofu_prepare_cswap4(utofu::vcq_handle h, utofu::vcq_id to, std::uint32_t expected, std::uint32_t desired,
                         utofu::stadd remote, OF_ALL, INTO) {
  return prepare_armw(h, to, armw_kind::compare, 4, desired, expected, remote, edata, flags, desc, desc_bytes);
}
int utofu_prepare_cswap8(utofu::vcq_handle h, utofu::vcq_id to, std::uint64_t expected, std::uint64_t desired,
                         utofu::stadd remote, OF_ALL, INTO) {
  return prepare_armw(h, to, armw_kind::compare, 8, desired, expected, remote, edata, flags, desc, desc_bytes);
}
int utofu_prepare_nop(utofu::vcq_handle h, unsigned long flags, INTO) {
  if (const int c = check(h, 0, flags, "a nop"); c != code::success) return c;
  descriptor d = begin(packet_kind::put, 0, 0, 0, flags);
  d.body = descriptor_body::nothing;
  return write_down(d, desc, desc_bytes);
}

int utofu_put(OF_MOVE, OF_ALL, void* cbdata) {
  descriptor d;
  std::size_t n = 0;
  return post_one(h, utofu_prepare_put(h, to, local, remote, bytes, edata, flags, &d, &n), d, cbdata);
}
int utofu_get(OF_MOVE, OF_ALL, void* cbdata) {
  descriptor d;
  std::size_t n = 0;
  return post_one(h, utofu_prepare_get(h, to, local, remote, bytes, edata, flags, &d, &n), d, cbdata);
}
int utofu_put_piggyback(utofu::vcq_handle h, utofu::vcq_id to, void* data, utofu::stadd remote, std::size_t bytes,
                        OF_ALL, void* cbdata) {
  descriptor d;
  std::size_t n = 0;
  return post_one(h, utofu_prepare_put_piggyback(h, to, data, remote, bytes, edata, flags, &d, &n), d, cbdata);
}
int utofu_put_piggyback8(utofu::vcq_handle h, utofu::vcq_id to, std::uint64_t data, utofu::stadd remote,
                         std::size_t bytes, OF_ALL, void* cbdata) {
  descriptor d;
  std::size_t n = 0;
  return post_one(h, utofu_prepare_put_piggyback8(h, to, data, remote, bytes, edata, flags, &d, &n), d, cbdata);
}
int utofu_armw4(utofu::vcq_handle h, utofu::vcq_id to, utofu::armw_op op, std::uint32_t value, utofu::stadd remote,
                OF_ALL, void* cbdata) {
  descriptor d;
  std::size_t n = 0;
  return post_one(h, utofu_prepare_armw4(h, to, op, value, remote, edata, flags, &d, &n), d, cbdata);
}
int utofu_armw8(utofu::vcq_handle h, utofu::vcq_id to, utofu::armw_op op, std::uint64_t value, utofu::stadd remote,
                OF_ALL, void* cbdata) {
  descriptor d;
  std::size_t n = 0;
  return post_one(h, utofu_prepare_armw8(h, to, op, value, remote, edata, flags, &d, &n), d, cbdata);
}
int utofu_cswap4(utofu::vcq_handle h, utofu::vcq_id to, std::uint32_t expected, std::uint32_t desired,
                 utofu::stadd remote, OF_ALL, void* cbdata) {
  descriptor d;
  std::size_t n = 0;
  return post_one(h, utofu_prepare_cswap4(h, to, expected, desired, remote, edata, flags, &d, &n), d, cbdata);
}
int utofu_cswap8(utofu::vcq_handle h, utofu::vcq_id to, std::uint64_t expected, std::uint64_t desired,
                 utofu::stadd remote, OF_ALL, void* cbdata) {
  descriptor d;
  std::size_t n = 0;
  return post_one(h, utofu_prepare_cswap8(h, to, expected, desired, remote, edata, flags, &d, &n), d, cbdata);
}
int utofu_nop(utofu::vcq_handle h, unsigned long flags, void* cbdata) {
  descriptor d;
  std::size_t n = 0;
  return post_one(h, utofu_prepare_nop(h, flags, &d, &n), d, cbdata);
}
