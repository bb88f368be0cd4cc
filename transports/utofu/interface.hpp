// SPDX-License-Identifier: Apache-2.0
// The public uTofu interface, version 1.0, as far as Tobiuo uses it: types, numbers and functions, written down from
// what is public of it. Debian has no header of it. Where a machine has one, library.cc compares the two when it is
// compiled.
#pragma once

#include <cstddef>
#include <cstdint>

namespace tobi::transports::utofu {

using tni_id = std::uint16_t;       // a network interface of the node
using cq_id = std::uint16_t;        // a set of queues of a TNI
using cmp_id = std::uint16_t;       // a component of the program, such as MPI
using vcq_handle = std::uintptr_t;  // this process's way to its virtual control queue
using vcq_id = std::uint64_t;       // a virtual control queue, as others name it; with a path
using stadd = std::uint64_t;        // a steering address: memory that was registered, of one VCQ

inline constexpr std::size_t coordinates = 6;  // X, Y, Z, A, B, C

/// What functions return. Below -127 a queue's entry says what went wrong with a request; below -511 the caller was.
struct code {
  enum : int {
    success = 0,
    not_found = -1,  // a queue that is polled is empty
    busy = -4,       // the TOQ is full: the TCQ is to be polled
    used = -5,
    full = -6,  // there is no queue, or no STAG, any more
    not_available = -7,
    not_supported = -8,
    tcq_other = -128,
    tcq_desc = -129,
    tcq_memory = -130,
    tcq_stadd = -131,
    tcq_length = -132,
    mrq_other = -192,
    mrq_peer = -193,
    mrq_lcl_memory = -194,
    mrq_rmt_memory = -195,
    mrq_lcl_stadd = -196,
    mrq_rmt_stadd = -197,
    mrq_lcl_length = -198,
    mrq_rmt_length = -199,
    invalid_arg = -512,
    invalid_flags = -514,
    invalid_coords = -515,
    invalid_tni_id = -517,
    invalid_cq_id = -518,
    invalid_cmp_id = -520,
    invalid_vcq_hdl = -521,
    invalid_vcq_id = -522,
    invalid_stadd = -525,
    invalid_address = -526,
    invalid_size = -527,
    invalid_stag = -528,
    invalid_edata = -529,
    invalid_op = -531,
    invalid_desc = -532,
    out_of_resource = -640,
    out_of_memory = -641,
    fatal = -768,
  };
};
/// Whether a poll returned an entry that says what went wrong with a request.
[[nodiscard]] constexpr bool is_of_tcq(int c) noexcept { return c <= code::tcq_other && c > code::mrq_other; }
[[nodiscard]] constexpr bool is_of_mrq(int c) noexcept { return c <= code::mrq_other && c > -256; }

namespace flag {

// utofu_onesided_caps::flags and ::armw_ops.
inline constexpr unsigned long cap_session_mode = 1ul << 0;
inline constexpr unsigned long cap_armw = 1ul << 1;
inline constexpr unsigned long cap_op_cswap = 1ul << 0;
inline constexpr unsigned long cap_op_swap = 1ul << 1;
inline constexpr unsigned long cap_op_add = 1ul << 2;
inline constexpr unsigned long cap_op_xor = 1ul << 3;
inline constexpr unsigned long cap_op_and = 1ul << 4;
inline constexpr unsigned long cap_op_or = 1ul << 5;

// Of a VCQ.
inline constexpr unsigned long vcq_thread_safe = 1ul << 0;
inline constexpr unsigned long vcq_exclusive = 1ul << 1;
inline constexpr unsigned long vcq_session_mode = 1ul << 2;

// Of a registration.
inline constexpr unsigned long reg_read_only = 1ul << 0;

// Of a request.
inline constexpr unsigned long strong_order = 1ul << 0;
inline constexpr unsigned long packet_response = 1ul << 1;
inline constexpr unsigned long remote_mrq_notice = 1ul << 2;
inline constexpr unsigned long padding = 1ul << 3;
inline constexpr unsigned long cache_injection = 1ul << 5;
inline constexpr unsigned long delay_start = 1ul << 8;
inline constexpr unsigned long tcq_notice = 1ul << 14;
inline constexpr unsigned long local_mrq_notice = 1ul << 15;
inline constexpr int path_shift = 28;  // a path's id, eight bits
inline constexpr int sps_shift = 24;

}  // namespace flag

// Of those that there are: the three behind are bitwise.
enum class armw_op : int { swap = 1, add = 2 };

/// What an entry of the MRQ tells of: a request of one's own (local) or of a peer's (remote).
enum class notice_type : std::uint8_t { lcl_put, rmt_put, lcl_get, rmt_get, lcl_armw, rmt_armw };

struct onesided_caps {
  unsigned long flags;
  unsigned long armw_ops;
  unsigned int num_cmp_ids;
  unsigned int num_reserved_stags;
  std::size_t cache_line_size;
  std::size_t stag_address_alignment;
  std::size_t max_toq_desc_size;
  std::size_t max_putget_size;
  std::size_t max_piggyback_size;
  std::size_t max_edata_size;
  std::size_t max_mtu;
  std::size_t max_gap;
};

/// An entry of the MRQ. The value that an ARMW has found is `rmt_value`.
struct mrq_notice {
  std::uint8_t type;
  std::uint8_t padding1[7];
  vcq_id vcq;
  std::uint64_t edata;
  std::uint64_t rmt_value;
  stadd lcl_stadd;
  stadd rmt_stadd;
  std::uint64_t reserved[2];
};
static_assert(sizeof(mrq_notice) == 64);

/// The functions, without the "utofu_" of their names. A prepared descriptor has max_toq_desc_size bytes at most;
/// post_toq() takes several, one behind the other, with one doorbell: all of them or, where it returns `busy`, none.
struct calls {
  int (*get_onesided_tnis)(tni_id** ids, std::size_t* count) = nullptr;  // ids: to be freed
  int (*query_onesided_caps)(tni_id, onesided_caps**) = nullptr;
  int (*create_vcq)(tni_id, unsigned long flags, vcq_handle*) = nullptr;
  int (*free_vcq)(vcq_handle) = nullptr;
  int (*query_vcq_id)(vcq_handle, vcq_id*) = nullptr;
  int (*query_vcq_info)(vcq_id, std::uint8_t coords[], tni_id*, cq_id*, std::uint16_t* extra) = nullptr;
  int (*set_vcq_id_path)(vcq_id*, std::uint8_t coords[]) = nullptr;  // coords null: the default path
  int (*reg_mem)(vcq_handle, void* at, std::size_t bytes, unsigned long flags, stadd*) = nullptr;
  int (*dereg_mem)(vcq_handle, stadd, unsigned long flags) = nullptr;
  int (*prepare_put)(vcq_handle, vcq_id, stadd local, stadd remote, std::size_t bytes, std::uint64_t edata,
                     unsigned long flags, void* desc, std::size_t* desc_bytes) = nullptr;
  int (*prepare_put_piggyback)(vcq_handle, vcq_id, void* data, stadd remote, std::size_t bytes, std::uint64_t edata,
                               unsigned long flags, void* desc, std::size_t* desc_bytes) = nullptr;
  int (*prepare_get)(vcq_handle, vcq_id, stadd local, stadd remote, std::size_t bytes, std::uint64_t edata,
                     unsigned long flags, void* desc, std::size_t* desc_bytes) = nullptr;
  int (*prepare_armw8)(vcq_handle, vcq_id, armw_op, std::uint64_t value, stadd remote, std::uint64_t edata,
                       unsigned long flags, void* desc, std::size_t* desc_bytes) = nullptr;
  int (*prepare_cswap8)(vcq_handle, vcq_id, std::uint64_t expected, std::uint64_t desired, stadd remote,
                        std::uint64_t edata, unsigned long flags, void* desc, std::size_t* desc_bytes) = nullptr;
  int (*post_toq)(vcq_handle, void* desc, std::size_t desc_bytes, void* cbdata) = nullptr;
  int (*poll_tcq)(vcq_handle, unsigned long flags, void** cbdata) = nullptr;
  int (*poll_mrq)(vcq_handle, unsigned long flags, mrq_notice*) = nullptr;
  void (*query_tofu_version)(int* major, int* minor) = nullptr;
};

}  // namespace tobi::transports::utofu
