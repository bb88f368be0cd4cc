// SPDX-License-Identifier: Apache-2.0
// utofu: opening, registering, connecting.
#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "libcore/base/log.hpp"
#include "libcore/base/text.hpp"
#include "transports/key_parts.hpp"
#include "transports/port.hpp"
#include "transports/soft/amo.hpp"
#include "transports/soft/settings.hpp"
#include "transports/utofu/utofu.hpp"

namespace tobi::transports::utofu {

namespace {

struct key_content {
  std::uint64_t at;  // STADD
  std::uint64_t bytes;
};

// What the software's atomics need and what the runtime needs: both, or messages.
bool has_atomics(const onesided_caps& caps) noexcept {
  constexpr unsigned long wanted = flag::cap_op_add | flag::cap_op_cswap;
  return (caps.flags & flag::cap_armw) != 0 && (caps.armw_ops & wanted) == wanted;
}

int generation(const library& lib) noexcept {
  int major = 0;
  int minor = 0;
  lib.query_tofu_version(&major, &minor);
  return major;
}

std::string unknown_tni(int wished, const std::vector<tni_id>& all) {
  std::string names;
  for (const tni_id t : all) base::add_item(names, std::to_string(t));
  return "TOBI_UTOFU_TNI=" + std::to_string(wished) + " is not one of this node's network interfaces: " + names;
}

}  // namespace

std::string unusable(const context& where) {
  const auto& wish = where.settings.of<settings>();
  const interfaces has = find_interfaces(libtofucom(wish.library));
  if (!has.why_not.empty()) return has.why_not;
  const bool there = wish.tni < 0 || std::find(has.tnis.begin(), has.tnis.end(), wish.tni) != has.tnis.end();
  return there ? "" : unknown_tni(wish.tni, has.tnis);
}

std::unique_ptr<transport> create(const context& where) {
  if (const std::string why = unusable(where); !why.empty()) {
    base::fatal("utofu cannot be used: " + why + ".", base::exit_usage);
  }
  const library& lib = libtofucom(where.settings.of<settings>().library);
  const auto make = [&lib](const context& of) -> std::unique_ptr<transport> {
    return std::make_unique<utofu_transport>(of, lib, find_interfaces(lib));
  };
  const bool native = where.settings.of<soft::settings>().amo_server <= soft::amo_place::native;
  if (native && has_atomics(find_interfaces(lib).caps)) return make(where);
  return soft::with_amo_server(where, make);
}

std::vector<device> devices() {
  const char* named = std::getenv("TOBI_UTOFU_LIBRARY");
  const library& lib = libtofucom(named == nullptr ? "" : named);
  const interfaces has = find_interfaces(lib);
  if (!has.why_not.empty()) return {};  // unusable() says it
  std::vector<device> rows;
  for (const tni_id t : has.tnis) {
    rows.push_back({"TNI " + std::to_string(t),
                    std::string(lib.emulated ? "emulated, " : "") + (has_atomics(has.caps) ? "atomics" : "no atomics") +
                        ", requests of " + base::format_size(has.caps.max_putget_size) + " at most",
                    ""});
  }
  return rows;
}

port entry() { return {.unusable = unusable, .create = create, .devices = devices}; }

utofu_transport::utofu_transport(const context& where, const library& lib, interfaces has)
    : lib_(lib),
      device_(has.caps),
      order_(where.settings.of<settings>().order),
      rank_(where.rank),
      size_(where.size),
      granule_(generation(lib) == 1 ? 4 : 1),
      piece_bytes_((has.caps.max_putget_size - slot_bytes) / slot_bytes * slot_bytes),
      tnis_(has.tnis.size()),
      chains_(requests_most),
      links_(static_cast<std::size_t>(where.size)) {
  create_vcq(where, has, where.settings.of<settings>().tni);
  slots_ = static_cast<std::byte*>(std::aligned_alloc(slot_bytes, requests_most * slot_bytes));
  const int got =
      slots_ == nullptr ? code::out_of_memory : lib_.reg_mem(vcq_, slots_, requests_most * slot_bytes, 0, &slots_at_);
  if (got != code::success) base::fatal("utofu: its own buffers cannot be registered (" + words_of(got) + ").");
  for (std::uint32_t i = requests_most; i-- > 0;) {
    requests_[i].next_free = free_request_;
    free_request_ = static_cast<std::uint8_t>(i);
  }
  free_requests_ = requests_most;
  for (chain& c : chains_) {
    c.next_free = free_chain_;
    free_chain_ = &c;
  }
  const bool atomics = has_atomics(device_);
  caps_.fetch_add = caps_.compare_swap = atomics;
  caps_.scope = atomics ? amo_scope::domain : amo_scope::none;
  caps_.passive_rma = true;
  caps_.passive_amo = atomics;
  caps_.registers_any_memory = true;
  caps_.chain_max = chain_most;
  caps_.peer_errors = true;
  caps_.pins_memory = true;
  caps_.inline_max = inline_bytes;
  caps_.put_max = pieces_most * piece_bytes_;
  caps_.put_granule = granule_;
  base::log(base::log_level::info, "utofu: " + describe() + ".");
}

utofu_transport::~utofu_transport() {
  // The queue first: what is under way reaches none of this memory any more.
  lib_.free_vcq(vcq_);
  for (request& r : requests_) std::free(r.bounce);
  std::free(slots_);
}

// Workers of a node take its interfaces in turn, in the order of their cores: so each group of cores uses all of them.
void utofu_transport::create_vcq(const context& where, const interfaces& has, int wished) {
  std::size_t place = 0;
  for (int r = 0; r < where.rank; ++r) place += where.node_of(r) == where.node_of(where.rank) ? 1u : 0u;
  int got = code::full;
  for (std::size_t i = 0; i < has.tnis.size() && got == code::full; ++i) {
    tni_ = wished < 0 ? has.tnis[(place + i) % has.tnis.size()] : static_cast<tni_id>(wished);
    got = lib_.create_vcq(tni_, 0, &vcq_);
    if (wished >= 0) break;
  }
  if (got == code::success) got = lib_.query_vcq_id(vcq_, &id_);
  if (got == code::success) return;
  base::fatal(
      "utofu: no virtual control queue can be made on " +
      (wished < 0 ? "any of " + std::to_string(has.tnis.size()) + " interfaces" : "TNI " + std::to_string(tni_)) +
      " (" + words_of(got) + "); start fewer workers on this node" +
      (wished < 0 ? "." : ", or leave TOBI_UTOFU_TNI alone."));
}

std::string utofu_transport::dialect() const { return granule_ == 1 ? "Tofu 2 and later" : "Tofu 1"; }

std::string utofu_transport::place_of(vcq_id id) const {
  std::uint8_t at[coordinates] = {};
  tni_id tni = 0;
  cq_id cq = 0;
  std::uint16_t extra = 0;
  if (lib_.query_vcq_info(id, at, &tni, &cq, &extra) != code::success) return "an unknown place";
  std::string text;
  for (const std::uint8_t c : at) text += (text.empty() ? "" : ",") + std::to_string(c);
  return text + " TNI " + std::to_string(tni) + " CQ " + std::to_string(cq);
}

std::string utofu_transport::describe() const {
  return lib_.file + (lib_.emulated ? ", emulated, " : ", ") + dialect() + ", at " + place_of(id_) + " of " +
         std::to_string(tnis_) + " TNIs, atomic " +
         (caps_.fetch_add ? "among operations of this TNI" : "not available") +
         (order_ == trusted_order::all ? ", order of gets trusted" : ", gets of a chain wait for its writes");
}

std::string utofu_transport::address() const { return {reinterpret_cast<const char*>(&id_), sizeof id_}; }

status utofu_transport::connect(std::span<const std::string> addresses) {
  if (addresses.size() != static_cast<std::size_t>(size_)) return status::invalid;
  for (const std::string& a : addresses) {
    vcq_id id = 0;
    if (a.size() != sizeof id) return status::invalid;
    std::memcpy(&id, a.data(), sizeof id);
    // All requests to a peer take one path, or STRONG_ORDER would order nothing.
    if (lib_.set_vcq_id_path(&id, nullptr) != code::success) return status::invalid;
    peers_.push_back(id);
  }
  return status::ok;
}

status utofu_transport::register_memory(const memory& local, region_key& key) {
  if (local.base == nullptr || local.bytes == 0) return status::invalid;
  // A Tofu 1 reads whole granules: those at both ends lie in the same pages.
  const std::size_t bytes = local.bytes_at_first();
  const auto begin = reinterpret_cast<std::uintptr_t>(local.base);
  const std::uintptr_t from = begin / granule_ * granule_;
  const std::uintptr_t to = (begin + bytes + granule_ - 1) / granule_ * granule_;
  stadd at = 0;
  const int got = lib_.reg_mem(vcq_, reinterpret_cast<void*>(from), to - from, 0, &at);
  if (got != code::success) {
    why_not_registered_ = words_of(got);
    return status::invalid;
  }
  const key_content c{at + (begin - from), bytes};
  key = sealed(c);
  own_.push_back({static_cast<std::byte*>(local.base), bytes, c.at, key});
  return status::ok;
}

status utofu_transport::deregister_memory(const region_key& key) {
  const auto found =
      std::find_if(own_.begin(), own_.end(), [&](const own_region& o) { return o.key.bytes == key.bytes; });
  if (found == own_.end()) return status::invalid;
  for (region& r : regions_) {
    if (r.here != nullptr && r.at == found->at) r.bytes = 0;
  }
  const std::uint64_t head = reinterpret_cast<std::uintptr_t>(found->base) % granule_;
  const int got = lib_.dereg_mem(vcq_, found->at - head, 0);
  own_.erase(found);
  return got == code::success ? status::ok : status::invalid;
}

status utofu_transport::attach(int rank, const region_key& key, region_id& id) {
  if (rank < 0 || rank >= size_) return status::invalid;
  const auto c = unsealed<key_content>(key);
  if (!c || c->bytes == 0) return status::invalid;
  std::byte* here = nullptr;
  if (rank == rank_) {
    const auto own = std::find_if(own_.begin(), own_.end(), [&](const own_region& o) { return o.at == c->at; });
    if (own == own_.end()) return status::invalid;
    here = own->base;
  }
  regions_.push_back({rank, c->at, c->bytes, here});
  id = static_cast<region_id>(regions_.size() - 1);
  return status::ok;
}

}  // namespace tobi::transports::utofu
