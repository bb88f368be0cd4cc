// SPDX-License-Identifier: Apache-2.0
#include "transports/ofi/provider.hpp"

#include <netinet/in.h>
#include <rdma/fi_domain.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <utility>

#include "libcore/base/text.hpp"
#include "transports/ofi/settings.hpp"
#include "transports/ofi/symbol_search.hpp"
#include "transports/soft/settings.hpp"

namespace tobi::transports::ofi {

namespace {

constexpr std::uint32_t api = FI_VERSION(1, 11);
constexpr std::uint64_t rma = FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

// Everything that a provider may ask for besides a registration. FI_MR_RMA_EVENT is about counters, which are not used.
constexpr int any_mode =
    FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT | FI_MR_RMA_EVENT;
// A provider counts its keys, from 1 on. Over sockets, any process that reaches the port could guess them, and has then
// what the job's workers have: all of their memory. So the keys are ours where it leaves that to us: 64 bits by chance.
constexpr int own_keys = any_mode & ~FI_MR_PROV_KEY;
constexpr std::size_t key_bytes = 8;

// Never taken unless they are named: one host only, deprecated, or unreliable underneath and slower than tcp.
constexpr std::array<std::string_view, 4> not_automatic{"shm", "sockets", "udp", "net"};

info_list ask(std::uint64_t caps, const std::string& provider, std::string& error, int mr_mode = any_mode) {
  const library& lib = libfabric();
  const info_list hints(lib.dupinfo(nullptr));
  hints->caps = caps;
  hints->mode = FI_CONTEXT | FI_CONTEXT2 | FI_ASYNC_IOV;  // the last is about operations of several buffers alone
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = mr_mode;
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  // What is delivered is in the target's memory, not just sent.
  hints->tx_attr->op_flags = FI_DELIVERY_COMPLETE | FI_COMPLETION;
  if (!provider.empty()) hints->fabric_attr->prov_name = strdup(provider.c_str());  // freed with the hints
  fi_info* found = nullptr;
  static bool started = false;  // the first call makes all providers ready
  std::optional<symbol_search_off> quicker;
  if (!std::exchange(started, true)) quicker.emplace();
  const int status = lib.getinfo(api, nullptr, nullptr, 0, hints.get(), &found);
  if (status != 0) error = lib.strerror(-status);
  return info_list(found);
}

// How far an instance's address reaches. IPv4 comes first, since other hosts are more likely to have it; a link-local
// address of IPv6 says nothing without its interface. libfabric offers loopback's addresses also where they are not
// there: in a container without a network, loopback is down.
enum class reach { nothing, own_host_6, own_host, wide_6, wide };

// No packet is sent: the kernel looks for a way there.
template <class Address>
bool has_way_to(Address at) {
  auto& any = reinterpret_cast<sockaddr&>(at);
  const int s = socket(any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (s < 0) return true;  // what it ends with is said later
  const bool yes = ::connect(s, &any, sizeof at) == 0;
  close(s);
  return yes;
}

reach reach_of(const fi_info& info) {
  if (info.addr_format == FI_SOCKADDR_IN && info.src_addr != nullptr) {
    const auto& four = *static_cast<const sockaddr_in*>(info.src_addr);
    if (ntohl(four.sin_addr.s_addr) >> IN_CLASSA_NSHIFT != IN_LOOPBACKNET) return reach::wide;
    return has_way_to(four) ? reach::own_host : reach::nothing;
  }
  if (info.addr_format == FI_SOCKADDR_IN6) {
    if (info.src_addr == nullptr) return reach::nothing;
    const auto& six = *static_cast<const sockaddr_in6*>(info.src_addr);
    if (IN6_IS_ADDR_LINKLOCAL(&six.sin6_addr)) return reach::nothing;
    if (!IN6_IS_ADDR_LOOPBACK(&six.sin6_addr)) return reach::wide_6;
    return has_way_to(six) ? reach::own_host_6 : reach::nothing;
  }
  return reach::wide;
}

bool automatic(const fi_info& info) {
  const std::string_view name = info.fabric_attr->prov_name;
  return std::none_of(not_automatic.begin(), not_automatic.end(),
                      [&](std::string_view n) { return name == n || (name.starts_with(n) && name[n.size()] == ';'); });
}

// Of the instances of one provider for one domain, the one with most data of completions, if I is one of them: psm3's
// have 0, 4 and 8 bytes, in this order.
const fi_info* with_most_data(const fi_info* i) {
  const fi_info* most = i;
  for (const fi_info* other = i->next; other != nullptr; other = other->next) {
    const bool alike = std::string_view(other->fabric_attr->prov_name) == i->fabric_attr->prov_name &&
                       std::string_view(other->domain_attr->name) == i->domain_attr->name &&
                       other->addr_format == i->addr_format;
    if (alike && other->domain_attr->cq_data_size > most->domain_attr->cq_data_size) most = other;
  }
  return most;
}

// Whether I may be taken at all: of some providers, only where one is NAMED.
bool may_be_taken(const fi_info& i, std::string_view named) { return !named.empty() || automatic(i); }

// What reaches farthest, and of that the first: libfabric's order is that of preference. A provider that was NAMED is
// taken by that name if it serves itself, else with the layer that libfabric puts above it (tcp as tcp;ofi_rxm).
const fi_info* best(const fi_info* list, std::string_view named, std::string_view domain) {
  const fi_info* widest = nullptr;
  reach of_widest = reach::nothing;
  bool exact = false;
  for (const fi_info* i = list; i != nullptr && !exact; i = i->next) exact = named == i->fabric_attr->prov_name;
  for (const fi_info* i = list; i != nullptr; i = i->next) {
    if (!may_be_taken(*i, named)) continue;
    if (exact && named != i->fabric_attr->prov_name) continue;
    if (!domain.empty() && domain != i->domain_attr->name) continue;
    if (const reach r = reach_of(*i); r > of_widest) {
      widest = i;
      of_widest = r;
    }
  }
  return widest == nullptr ? nullptr : with_most_data(widest);
}

// An endpoint of the very provider NAME, with keys of our own if it may be; null if it has not got CAPS.
info_list endpoint_of(const std::string& name, const std::string& domain, std::uint64_t caps) {
  for (const int mode : {own_keys, any_mode}) {
    std::string ignored;
    const info_list list = ask(caps, name, ignored, mode);
    const fi_info* found = list == nullptr ? nullptr : best(list.get(), name, domain);
    if (found == nullptr || name != found->fabric_attr->prov_name) continue;
    if (mode == own_keys && found->domain_attr->mr_key_size < key_bytes) continue;  // short ones can be guessed, too
    return info_list(libfabric().dupinfo(found));
  }
  return nullptr;
}

template <class Is>
bool any_of(const fi_info* list, Is is) {
  while (list != nullptr && !is(*list)) list = list->next;
  return list != nullptr;
}

std::string names(const fi_info* list, const char* (*of)(const fi_info&)) {
  std::vector<std::string> all;
  for (; list != nullptr; list = list->next) {
    const std::string name = of(*list);
    if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(name);
  }
  return base::joined(all);
}

// Provider shm has a file of some megabytes there for each worker, and serves nobody where it might not find the room;
// what it returns then says nothing of that.
std::string room_for(const std::string& provider) {
  struct statvfs files {};
  if (provider != "shm" || statvfs("/dev/shm", &files) != 0) return "";
  return "; /dev/shm has " + base::format_size(files.f_bavail * files.f_frsize >> 20 << 20) + " left for it";
}

// libfabric reads these once, at its first call; what the user has set stays.
//
// Providers over connections make their queues for 256 peers unless they are told how many there will be, and a device
// may not have queues so long (Soft-RoCE under verbs;ofi_rxm). Servers of atomics count as peers.
//
// rxm has buffers of 16 KB for messages, and touches all of them as it starts: 97 MB a worker. Its messages carry
// nothing but atomics here, of 64 bytes at most; puts and gets go past them.
void tell_needs(const context& where) {
  setenv("FI_UNIVERSE_SIZE", std::to_string(2 * where.size).c_str(), 0);
  setenv("FI_OFI_RXM_BUFFER_SIZE", "1024", 0);
  // In microseconds. A first contact waits for up to three such looks of the two, and the provider's own 10 ms each are
  // longer than most tasks.
  setenv("FI_OFI_RXM_CM_PROGRESS_INTERVAL", "100", 0);
}

// Whether a provider's atomics are messages that its software executes at the target: those of libfabric's utility
// providers are, whatever is underneath (fi_rxm(7), fi_rxd(7)). They exclude each other alone. Our own messages exclude
// the CPU's atomics as well, so neighbours join and steal by memory: a wavefront of joins (lcs, two nodes of two
// workers over tcp;ofi_rxm) takes half the time. An atomic on another node costs some 13 us more, 30 where it was 17,
// so where all are on other nodes the provider's are taken.
bool by_messages(std::string_view name) noexcept { return name.find(";ofi_") != std::string_view::npos; }

}  // namespace

choice choose_provider(const context& where) {
  choice c;
  const library& lib = libfabric();
  if (!lib.error.empty()) {
    c.error = lib.error;
    return c;
  }
  tell_needs(where);
  const auto& wish = where.settings.of<settings>();
  const std::string& wanted = wish.provider;
  const std::string domain = base::dealt(wish.domain, where.rank);
  std::string why;
  // Asking for atomics changes what a provider promises for everything else (rxm gives up its ordering), and an
  // automatic choice prefers a provider without them to a worse one with them: RMA is asked for first.
  info_list list = ask(rma, wanted, why);
  const fi_info* found = list == nullptr ? nullptr : best(list.get(), wanted, domain);
  if (list != nullptr && found == nullptr && !domain.empty()) {
    c.error = "libfabric has no domain \"" + domain +
              "\" with a provider that can serve; TOBI_OFI_DOMAIN may be one of " +
              names(list.get(), [](const fi_info& i) -> const char* { return i.domain_attr->name; });
    return c;
  }
  if (found == nullptr) {
    std::string ignored;
    const info_list all = ask(rma, "", ignored);
    const auto is_cut_off = [&wanted](const fi_info& i) {
      return may_be_taken(i, wanted) && reach_of(i) == reach::nothing;
    };
    if (any_of(list.get(), is_cut_off)) {
      c.error =
          "libfabric's providers have no address here that can be reached: the loopback interface is down, and "
          "there is no other (ip link set lo up, or TOBI_TRANSPORT=shm)";
      return c;
    }
    const std::string others =
        "; TOBI_OFI_PROVIDER may be one of " +
        names(all.get(), [](const fi_info& i) -> const char* { return i.fabric_attr->prov_name; });
    if (!wanted.empty()) {
      c.error = "libfabric has no provider \"" + wanted + "\" that can serve (" + why + room_for(wanted) + ")" + others;
    } else if (list != nullptr) {
      c.error = "libfabric offers no provider that is taken unless it is named" + others;
    } else {
      c.error = "libfabric offers no provider with reliable datagram endpoints and RMA (" + why + ")";
    }
    // Of the site, and it may name what is not to be had.
    if (const char* filter = std::getenv("FI_PROVIDER"); filter != nullptr && *filter != '\0') {
      c.error += "; FI_PROVIDER=" + std::string(filter) + " chooses what it offers";
    }
    return c;
  }
  const std::string name = found->fabric_attr->prov_name;
  const soft::amo_place place = where.settings.of<soft::settings>().amo_server;
  const bool better_soft =
      place == soft::amo_place::automatic && by_messages(name) && where.has_neighbours_and_others();
  if (place <= soft::amo_place::native && !better_soft) {
    c.info = endpoint_of(name, domain, rma | FI_ATOMIC);
    c.atomics = c.info != nullptr;
  }
  if (c.info == nullptr) c.info = endpoint_of(name, domain, rma);
  if (c.info == nullptr) c.error = "libfabric offers the provider " + name + " and then does not";
  return c;
}

std::vector<device> devices() {
  std::vector<device> rows;
  if (const std::string& why = libfabric().error; !why.empty()) return {{"libfabric", "", why}};
  std::string why;
  const info_list usable = ask(rma, "", why);
  for (const fi_info* i = usable.get(); i != nullptr; i = i->next) {
    const std::string name = i->fabric_attr->prov_name;
    if (reach_of(*i) == reach::nothing) continue;
    if (std::any_of(rows.begin(), rows.end(), [&](const device& d) { return d.name == name; })) continue;
    std::string ignored;
    const bool atomics = ask(rma | FI_ATOMIC, name, ignored) != nullptr;
    rows.push_back({name,
                    std::string(atomics ? "atomics" : "no atomics (software ones)") + ", " +
                        (i->domain_attr->data_progress == FI_PROGRESS_AUTO ? "says that it moves by itself"
                                                                           : "says that it moves when workers poll") +
                        (automatic(*i) ? "" : ", only when named"),
                    ""});
  }
  // Everything else that this libfabric knows, and cannot serve here.
  fi_info* everything = nullptr;
  if (libfabric().getinfo(api, nullptr, nullptr, FI_PROV_ATTR_ONLY, nullptr, &everything) == 0) {
    const info_list all(everything);
    for (const fi_info* i = all.get(); i != nullptr; i = i->next) {
      const std::string name = i->fabric_attr->prov_name;
      const bool utility = name.starts_with("ofi_");
      if (utility || std::any_of(rows.begin(), rows.end(), [&](const device& d) { return d.name == name; })) continue;
      rows.push_back(
          {name, "",
           "it finds no device here, has no address that can be reached, or no reliable datagram endpoints with RMA"});
    }
  }
  return rows;
}

}  // namespace tobi::transports::ofi
