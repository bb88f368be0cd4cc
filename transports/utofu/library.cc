// SPDX-License-Identifier: Apache-2.0
#include "transports/utofu/library.hpp"

#include <cstdlib>
#include <type_traits>

#include "libcore/base/shared_library.hpp"

// Where a vendor's header is, what is written down in interface.hpp must be what it says.
#if __has_include(<utofu.h>)
#include <utofu.h>
namespace tobi::transports::utofu {
static_assert(sizeof(mrq_notice) == sizeof(::utofu_mrq_notice));
static_assert(offsetof(mrq_notice, rmt_value) == offsetof(::utofu_mrq_notice, rmt_value));
static_assert(sizeof(onesided_caps) == sizeof(::utofu_onesided_caps));
static_assert(offsetof(onesided_caps, max_edata_size) == offsetof(::utofu_onesided_caps, max_edata_size));
static_assert(sizeof(tni_id) == sizeof(::utofu_tni_id_t) && sizeof(cq_id) == sizeof(::utofu_cq_id_t));
static_assert(sizeof(vcq_id) == sizeof(::utofu_vcq_id_t) && sizeof(stadd) == sizeof(::utofu_stadd_t));
constexpr bool same(long ours, long theirs) noexcept { return ours == theirs; }
static_assert(same(code::not_found, UTOFU_ERR_NOT_FOUND) && same(code::busy, UTOFU_ERR_BUSY));
static_assert(same(code::full, UTOFU_ERR_FULL) && same(code::out_of_memory, UTOFU_ERR_OUT_OF_MEMORY));
static_assert(same(code::tcq_other, UTOFU_ERR_TCQ_OTHER) && same(code::mrq_other, UTOFU_ERR_MRQ_OTHER));
static_assert(same(code::mrq_peer, UTOFU_ERR_MRQ_PEER));
static_assert(same(flag::strong_order, UTOFU_ONESIDED_FLAG_STRONG_ORDER));
static_assert(same(flag::tcq_notice, UTOFU_ONESIDED_FLAG_TCQ_NOTICE));
static_assert(same(flag::local_mrq_notice, UTOFU_ONESIDED_FLAG_LOCAL_MRQ_NOTICE));
static_assert(same(flag::cap_armw, UTOFU_ONESIDED_CAP_FLAG_ARMW));
static_assert(same(flag::cap_op_add, UTOFU_ONESIDED_CAP_ARMW_OP_ADD));
static_assert(same(flag::cap_op_cswap, UTOFU_ONESIDED_CAP_ARMW_OP_CSWAP));
static_assert(same(static_cast<int>(armw_op::add), UTOFU_ARMW_OP_ADD));
static_assert(same(static_cast<int>(notice_type::lcl_armw), UTOFU_MRQ_TYPE_LCL_ARMW));
}  // namespace tobi::transports::utofu
#endif

namespace tobi::transports::utofu {

namespace {

library load(const std::string& file) {
  library lib;
  lib.file = file.empty() ? "libtofucom.so" : file;
  const base::shared_library so(lib.file);
  if (!so.is_open()) {
    lib.error = "the uTofu library is not here (" + so.error() +
                "); it comes with the development studio of a Tofu machine, and TOBI_UTOFU_LIBRARY says where it is";
    return lib;
  }
  const char* lacks = so.resolve({{"utofu_get_onesided_tnis", lib.get_onesided_tnis},
                                  {"utofu_query_onesided_caps", lib.query_onesided_caps},
                                  {"utofu_create_vcq", lib.create_vcq},
                                  {"utofu_free_vcq", lib.free_vcq},
                                  {"utofu_query_vcq_id", lib.query_vcq_id},
                                  {"utofu_query_vcq_info", lib.query_vcq_info},
                                  {"utofu_set_vcq_id_path", lib.set_vcq_id_path},
                                  {"utofu_reg_mem", lib.reg_mem},
                                  {"utofu_dereg_mem", lib.dereg_mem},
                                  {"utofu_prepare_put", lib.prepare_put},
                                  {"utofu_prepare_put_piggyback", lib.prepare_put_piggyback},
                                  {"utofu_prepare_get", lib.prepare_get},
                                  {"utofu_prepare_armw8", lib.prepare_armw8},
                                  {"utofu_prepare_cswap8", lib.prepare_cswap8},
                                  {"utofu_post_toq", lib.post_toq},
                                  {"utofu_poll_tcq", lib.poll_tcq},
                                  {"utofu_poll_mrq", lib.poll_mrq},
                                  {"utofu_query_tofu_version", lib.query_tofu_version}});
  lib.emulated = so.find("utofu_emulated") != nullptr;  // of tests/emulators/utofu
  if (lacks != nullptr) lib.error = lib.file + " has no " + lacks;
  return lib;
}

struct code_words {
  int code;
  const char* words;
};
constexpr code_words all_words[] = {
    {code::not_found, "nothing is there"},
    {code::busy, "the TOQ is full"},
    {code::full, "all are in use"},
    {code::not_available, "not available"},
    {code::not_supported, "not supported"},
    {code::tcq_memory, "TCQ: local memory"},
    {code::tcq_stadd, "TCQ: local STADD"},
    {code::tcq_length, "TCQ: length"},
    {code::mrq_peer, "MRQ: the peer does not respond"},
    {code::mrq_lcl_memory, "MRQ: local memory"},
    {code::mrq_rmt_memory, "MRQ: remote memory"},
    {code::mrq_lcl_stadd, "MRQ: local STADD"},
    {code::mrq_rmt_stadd, "MRQ: remote STADD"},
    {code::out_of_resource, "out of resources"},
    {code::out_of_memory, "out of memory"},
    {code::fatal, "fatal"},
};

}  // namespace

const library& libtofucom(const std::string& file) {
  static const library lib = load(file);
  return lib;
}

std::string words_of(int code) {
  for (const code_words& w : all_words) {
    if (w.code == code) return std::string(w.words) + ", code " + std::to_string(code);
  }
  return "code " + std::to_string(code);
}

interfaces find_interfaces(const library& lib) {
  interfaces found;
  if (!lib.error.empty()) {
    found.why_not = lib.error;
    return found;
  }
  tni_id* ids = nullptr;
  std::size_t count = 0;
  const int got = lib.get_onesided_tnis(&ids, &count);
  if (got == code::success) found.tnis.assign(ids, ids + count);
  std::free(ids);
  if (found.tnis.empty()) {
    found.why_not = lib.file + " names no network interface (TNI) for one-sided communication (" + words_of(got) + ")";
    return found;
  }
  onesided_caps* caps = nullptr;
  const int asked = lib.query_onesided_caps(found.tnis.front(), &caps);
  if (asked != code::success || caps == nullptr) {
    found.why_not =
        "TNI " + std::to_string(found.tnis.front()) + " does not say what it can do (" + words_of(asked) + ")";
    found.tnis.clear();
    return found;
  }
  found.caps = *caps;
  if (found.caps.max_edata_size < 1 || found.caps.max_toq_desc_size == 0) {
    found.why_not = "TNI " + std::to_string(found.tnis.front()) + " sends no edata with a request";
    found.tnis.clear();
  } else if (found.caps.max_toq_desc_size > descriptor_most) {
    found.why_not = "TNI " + std::to_string(found.tnis.front()) + " has descriptors of " +
                    std::to_string(found.caps.max_toq_desc_size) + " bytes, and there is room for " +
                    std::to_string(descriptor_most);
    found.tnis.clear();
  }
  return found;
}

}  // namespace tobi::transports::utofu
