// SPDX-License-Identifier: Apache-2.0
// The functions of the public interface that the emulator has, under their own names.
#pragma once

#include "tests/emulators/utofu/vcq.hpp"

namespace emulated {

/// The VCQ of a handle, or null.
[[nodiscard]] vcq* find(utofu::vcq_handle h) noexcept;

}  // namespace emulated

#define EMULATED extern "C" [[gnu::visibility("default")]]

/// No function of the interface: by it the transport says that what it runs over is emulated.
EMULATED void utofu_emulated();

EMULATED int utofu_get_onesided_tnis(emulated::utofu::tni_id** ids, std::size_t* count);
EMULATED int utofu_query_onesided_caps(emulated::utofu::tni_id tni, emulated::utofu::onesided_caps** caps);
EMULATED int utofu_create_vcq(emulated::utofu::tni_id tni, unsigned long flags, emulated::utofu::vcq_handle* h);
EMULATED int utofu_create_vcq_with_cmp_id(emulated::utofu::tni_id tni, emulated::utofu::cmp_id component,
                                          unsigned long flags, emulated::utofu::vcq_handle* h);
EMULATED int utofu_free_vcq(emulated::utofu::vcq_handle h);
EMULATED int utofu_query_vcq_id(emulated::utofu::vcq_handle h, emulated::utofu::vcq_id* id);
EMULATED int utofu_construct_vcq_id(std::uint8_t coords[], emulated::utofu::tni_id tni, emulated::utofu::cq_id cq,
                                    emulated::utofu::cmp_id component, emulated::utofu::vcq_id* id);
EMULATED int utofu_query_vcq_info(emulated::utofu::vcq_id id, std::uint8_t coords[], emulated::utofu::tni_id* tni,
                                  emulated::utofu::cq_id* cq, std::uint16_t* extra);
EMULATED int utofu_set_vcq_id_path(emulated::utofu::vcq_id* id, std::uint8_t coords[]);
EMULATED int utofu_reg_mem(emulated::utofu::vcq_handle h, void* at, std::size_t bytes, unsigned long flags,
                           emulated::utofu::stadd* out);
EMULATED int utofu_reg_mem_with_stag(emulated::utofu::vcq_handle h, void* at, std::size_t bytes, unsigned stag,
                                     unsigned long flags, emulated::utofu::stadd* out);
EMULATED int utofu_query_stadd(emulated::utofu::vcq_id id, unsigned stag, emulated::utofu::stadd* out);
EMULATED int utofu_dereg_mem(emulated::utofu::vcq_handle h, emulated::utofu::stadd at, unsigned long flags);
EMULATED int utofu_post_toq(emulated::utofu::vcq_handle h, void* desc, std::size_t desc_bytes, void* cbdata);
EMULATED int utofu_poll_tcq(emulated::utofu::vcq_handle h, unsigned long flags, void** cbdata);
EMULATED int utofu_poll_mrq(emulated::utofu::vcq_handle h, unsigned long flags, emulated::utofu::mrq_notice* notice);
EMULATED int utofu_query_num_unread_tcq(emulated::utofu::vcq_handle h, std::size_t* count);
EMULATED int utofu_query_num_unread_mrq(emulated::utofu::vcq_handle h, std::size_t* count);
EMULATED void utofu_query_tofu_version(int* major, int* minor);
EMULATED void utofu_query_utofu_version(int* major, int* minor);
EMULATED int utofu_query_my_coords(std::uint8_t coords[]);

#define EMULATED_MOVE(name)                                                                                          \
  EMULATED int utofu_##name(emulated::utofu::vcq_handle h, emulated::utofu::vcq_id to, emulated::utofu::stadd local, \
                            emulated::utofu::stadd remote, std::size_t bytes, std::uint64_t edata,                   \
                            unsigned long flags, void* cbdata);                                                      \
  EMULATED int utofu_prepare_##name(emulated::utofu::vcq_handle h, emulated::utofu::vcq_id to,                       \
                                    emulated::utofu::stadd local, emulated::utofu::stadd remote, std::size_t bytes,  \
                                    std::uint64_t edata, unsigned long flags, void* desc, std::size_t* desc_bytes)
#define EMULATED_REQUEST(name, ...)                                                                         \
  EMULATED int utofu_##name(emulated::utofu::vcq_handle h, emulated::utofu::vcq_id to, __VA_ARGS__,         \
                            std::uint64_t edata, unsigned long flags, void* cbdata);                        \
  EMULATED int utofu_prepare_##name(emulated::utofu::vcq_handle h, emulated::utofu::vcq_id to, __VA_ARGS__, \
                                    std::uint64_t edata, unsigned long flags, void* desc, std::size_t* desc_bytes)

EMULATED_MOVE(put);
EMULATED_MOVE(get);
EMULATED_REQUEST(put_piggyback, void* data, emulated::utofu::stadd remote, std::size_t bytes);
EMULATED_REQUEST(put_piggyback8, std::uint64_t data, emulated::utofu::stadd remote, std::size_t bytes);
EMULATED_REQUEST(armw4, emulated::utofu::armw_op op, std::uint32_t value, emulated::utofu::stadd remote);
EMULATED_REQUEST(armw8, emulated::utofu::armw_op op, std::uint64_t value, emulated::utofu::stadd remote);
EMULATED_REQUEST(cswap4, std::uint32_t expected, std::uint32_t desired, emulated::utofu::stadd remote);
EMULATED_REQUEST(cswap8, std::uint64_t expected, std::uint64_t desired, emulated::utofu::stadd remote);
EMULATED int utofu_nop(emulated::utofu::vcq_handle h, unsigned long flags, void* cbdata);
EMULATED int utofu_prepare_nop(emulated::utofu::vcq_handle h, unsigned long flags, void* desc, std::size_t* desc_bytes);
