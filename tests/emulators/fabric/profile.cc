// SPDX-License-Identifier: Apache-2.0
// The table of profiles. The values are what the manuals fi_cxi(7), fi_efa(7), fi_opx(7), fi_psm3(7), fi_rxm(7) and
// fi_verbs(7) say, and where they are silent what those providers return from fi_getinfo.
#include "tests/emulators/fabric/profile.hpp"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

namespace tobi::emulators::fabric {

namespace {

constexpr auto by_host = static_cast<std::uint64_t>(mover::host);
constexpr std::uint64_t basic = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;

profile cxi() {
  profile p{.name = "cxi", .mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED, .mr_mode_if = FI_MR_PROV_KEY};
  p.key_bytes = 4;
  p.mr_cnt = 100;
  p.inject_size = 192;
  p.iov_limit = p.rma_iov_limit = 1;
  p.max_msg_size = (std::uint64_t{1} << 32) - 1;
  p.tx_size = 256;
  p.says_automatic = 0;
  p.shuffles = 1;
  return p;
}

// Releases before provider keys: keys of two bytes, and nothing to sleep on.
profile early_cxi() {
  profile p = cxi();
  p.name = "cxi-early";
  p.mr_mode = FI_MR_ENDPOINT;
  p.mr_mode_if = 0;
  p.key_bytes = 2;
  p.max_msg_size = std::uint64_t{1} << 30;
  p.wait_fd = 0;
  return p;
}

// Says that it moves by itself, and does not: its manual calls that an error.
profile efa() {
  profile p{.name = "efa", .mr_mode = basic};
  p.key_bytes = 4;
  p.inject_size = 0;
  p.rma_iov_limit = 1;
  p.cq_data_size = 4;
  p.rma = p.amo = by_host;
  p.wait_fd = 0;
  p.shuffles = 1;
  return p;
}

profile efa_direct() {
  profile p{.name = "efa-direct", .mr_mode = basic | FI_MR_LOCAL, .mode = FI_CONTEXT2};
  p.key_bytes = 4;
  p.inject_size = 32;
  p.iov_limit = p.rma_iov_limit = 1;
  p.max_msg_size = std::uint64_t{1} << 30;
  p.tx_size = 256;
  p.cq_data_size = 4;
  p.atomic_words = static_cast<std::uint64_t>(atomics::none);
  p.wait_fd = 0;
  p.shuffles = 1;
  return p;
}

profile opx() {
  profile p{.name = "opx", .mode = FI_CONTEXT2 | FI_ASYNC_IOV};
  p.inject_size = 16;
  p.iov_limit = p.rma_iov_limit = 1;
  p.cq_data_size = 4;
  p.says_automatic = 0;
  p.rma = p.amo = by_host;
  p.wait_fd = 0;
  p.av_type = FI_AV_MAP;
  p.shuffles = 1;
  return p;
}

profile psm3() {
  profile p{.name = "psm3"};
  p.inject_size = 64;
  p.rma_iov_limit = 1;
  p.max_msg_size = 0xfffff000;
  p.says_automatic = 0;
  p.rma = p.amo = by_host;
  p.plain_instances = 1;
  return p;
}

profile rxm() {
  profile p{.name = "rxm", .mr_mode = basic};
  p.inject_size = 1024;
  p.max_msg_size = std::uint64_t{1} << 30;
  p.cq_data_size = 4;
  p.says_automatic = 0;
  p.amo = by_host;
  p.shuffles = 1;
  p.again_first = 5;
  return p;
}

// Nothing that any of them grants, and all that any of them asks.
profile worst() {
  profile p{.name = "worst",
            .mr_mode = basic | FI_MR_LOCAL | FI_MR_ENDPOINT | FI_MR_RMA_EVENT,
            .mode = FI_CONTEXT | FI_CONTEXT2 | FI_ASYNC_IOV};
  p.mr_mode &= ~std::uint64_t{FI_MR_VIRT_ADDR};
  p.inject_size = 0;
  p.iov_limit = p.rma_iov_limit = 1;
  p.max_msg_size = 4096;
  p.tx_size = 8;
  p.cq_data_size = 4;
  p.rma = p.amo = by_host;
  p.atomic_words = static_cast<std::uint64_t>(atomics::add_and_swap);
  p.wait_fd = 0;
  p.av_type = FI_AV_MAP;
  p.shuffles = 1;
  p.again = 128;
  p.again_first = 5;
  return p;
}

struct row {
  const char* name;
  std::uint64_t profile::*value;
};
constexpr row rows[] = {{"MR_MODE", &profile::mr_mode},
                        {"MR_MODE_IF", &profile::mr_mode_if},
                        {"MODE", &profile::mode},
                        {"KEY_BYTES", &profile::key_bytes},
                        {"MR_CNT", &profile::mr_cnt},
                        {"INJECT_SIZE", &profile::inject_size},
                        {"IOV_LIMIT", &profile::iov_limit},
                        {"RMA_IOV_LIMIT", &profile::rma_iov_limit},
                        {"MAX_MSG_SIZE", &profile::max_msg_size},
                        {"TX_SIZE", &profile::tx_size},
                        {"CQ_DATA_SIZE", &profile::cq_data_size},
                        {"SAYS_AUTOMATIC", &profile::says_automatic},
                        {"RMA", &profile::rma},
                        {"AMO", &profile::amo},
                        {"ATOMICS", &profile::atomic_words},
                        {"FETCH_DELIVERY", &profile::fetch_delivery},
                        {"FETCH_LATE", &profile::fetch_late},
                        {"WAIT_FD", &profile::wait_fd},
                        {"AV_TYPE", &profile::av_type},
                        {"MANAGES", &profile::manages},
                        {"SHUFFLES", &profile::shuffles},
                        {"AGAIN", &profile::again},
                        {"AGAIN_FIRST", &profile::again_first},
                        {"PLAIN_INSTANCES", &profile::plain_instances},
                        {"SEED", &profile::seed}};

struct word {
  std::string_view name;
  std::uint64_t value;
};
constexpr word words[] = {{"none", 0},
                          {"local", FI_MR_LOCAL},
                          {"raw", FI_MR_RAW},
                          {"virt_addr", FI_MR_VIRT_ADDR},
                          {"allocated", FI_MR_ALLOCATED},
                          {"prov_key", FI_MR_PROV_KEY},
                          {"rma_event", FI_MR_RMA_EVENT},
                          {"endpoint", FI_MR_ENDPOINT},
                          {"context", FI_CONTEXT},
                          {"context2", FI_CONTEXT2},
                          {"async_iov", FI_ASYNC_IOV},
                          {"rx_cq_data", FI_RX_CQ_DATA},
                          {"device", static_cast<std::uint64_t>(mover::device)},
                          {"host", by_host},
                          {"add_and_swap", static_cast<std::uint64_t>(atomics::add_and_swap)},
                          {"all", static_cast<std::uint64_t>(atomics::all)},
                          {"map", FI_AV_MAP},
                          {"table", FI_AV_TABLE}};

[[noreturn]] void give_up(const std::string& why) {
  const std::string line = "strict fabric (emulated): " + why + ".\n";
  (void)!write(STDERR_FILENO, line.data(), line.size());
  std::_Exit(2);
}

// A number, or words of the table above that a + joins.
std::uint64_t value_of(const std::string& variable, std::string_view text) {
  char* end = nullptr;
  const std::string copy(text);
  if (const std::uint64_t number = std::strtoull(copy.c_str(), &end, 0); !copy.empty() && *end == '\0') return number;
  std::uint64_t value = 0;
  while (!text.empty()) {
    const std::string_view one = text.substr(0, text.find('+'));
    text.remove_prefix(std::min(text.size(), one.size() + 1));
    const word* found = nullptr;
    for (const word& w : words) found = w.name == one ? &w : found;
    if (found == nullptr) give_up(variable + "=" + copy + " is neither a number nor words joined by +");
    value |= found->value;
  }
  return value;
}

profile read_profile() {
  const profile all[] = {
      profile{.name = "plain"}, cxi(), early_cxi(), efa(), efa_direct(), opx(), psm3(), rxm(), worst()};
  const char* named = std::getenv("FI_STRICT_PROFILE");
  profile chosen = all[0];
  std::string known;
  bool found = named == nullptr;
  for (const profile& p : all) {
    known += " " + p.name;
    if (named == nullptr || p.name != named) continue;
    chosen = p;
    found = true;
  }
  if (!found) give_up(std::string("FI_STRICT_PROFILE=") + named + " is none of" + known);
  for (const row& r : rows) {
    const std::string variable = std::string("FI_STRICT_") + r.name;
    if (const char* text = std::getenv(variable.c_str())) chosen.*r.value = value_of(variable, text);
  }
  return chosen;
}

}  // namespace

const profile& in_force() {
  static const profile chosen = read_profile();
  return chosen;
}

}  // namespace tobi::emulators::fabric
