// SPDX-License-Identifier: Apache-2.0
// The objects behind libfabric's handles. One lock of the domain guards all of them: the device is a thread.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_rma.h>
#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <thread>
#include <unordered_map>
#include <vector>

#include "tests/emulators/fabric/profile.hpp"
#include "tests/emulators/fabric/rules.hpp"
#include "tests/emulators/fabric/wire.hpp"

namespace tobi::emulators::fabric {

struct endpoint;

struct fabric {
  fid_fabric handle{};  // the first member of each: a handle's address is its object's
  int children = 0;
};

struct region {
  fid_mr handle{};
  struct domain* in = nullptr;
  std::byte* base = nullptr;
  std::uint64_t bytes = 0;
  std::uint64_t access = 0;
  endpoint* of = nullptr;  // FI_MR_ENDPOINT
  bool enabled = false;
  int used = 0;  // by operations under way here
};

struct domain {
  fid_domain handle{};
  fabric* in = nullptr;
  std::uint64_t mr_mode = 0;  // what fi_getinfo has returned
  std::uint64_t mode = 0;
  bool manages = true;
  int children = 0;
  std::recursive_mutex lock;
  std::mt19937_64 chance;
  std::map<std::uint64_t, region*> by_key;
  std::set<const region*> regions;
  std::set<endpoint*> endpoints;
};

struct address_vector {
  fid_av handle{};
  domain* in = nullptr;
  enum fi_av_type type = FI_AV_TABLE;
  std::vector<name> names;
  int bound = 0;
};

struct queue {
  fid_cq handle{};
  domain* in = nullptr;
  fi_cq_format format = FI_CQ_FORMAT_CONTEXT;
  std::size_t size = 0;
  std::size_t promised = 0;  // entries of operations under way
  std::deque<fi_cq_tagged_entry> entries;
  std::deque<fi_cq_err_entry> errors;
  int wait = -1;   // an epoll of the endpoints' sockets and of `event`
  int event = -1;  // readable while there are entries
  int bound = 0;

  [[nodiscard]] bool full() const noexcept { return promised + entries.size() >= size; }
  void add(const fi_cq_tagged_entry& e);
  void add(const fi_cq_err_entry& e);
};

/// What was posted and is not complete.
struct operation {
  verb what = verb::put;
  bool completes = true;
  bool delivered = false;  // asked for: complete means that the target has it
  void* context = nullptr;
  std::vector<iovec> local;       // empty: injected
  std::vector<std::byte> before;  // what a source was as it was posted
  std::uint64_t packets = 0;      // not answered yet
  std::uint64_t unsent = 0;
  bool shares = false;  // its buffer with another get
  bool told = false;    // its completion
  std::vector<region*> described;
};

struct packet {
  name to;
  header head;
  std::vector<std::byte> payload;
};

struct endpoint {
  fid_ep handle{};
  domain* in = nullptr;
  std::uint64_t caps = 0;
  std::uint64_t op_flags = 0;
  queue* transmits = nullptr;
  queue* receives = nullptr;
  bool selective = false;
  address_vector* peers = nullptr;
  int regions = 0;  // bound to it
  bool enabled = false;
  name own;
  int socket = -1;
  int event = -1;  // wakes the device
  std::thread device;
  bool closing = false;
  std::uint64_t next = 1;
  std::unordered_map<std::uint64_t, operation> under_way;
  std::set<const void*> contexts;
  std::map<name, std::uint64_t> posts;  // to each peer
  std::function<void()> late;           // FI_STRICT_FETCH_LATE: the store of the last atomic
  std::deque<packet> out;
  std::deque<packet> waiting;                                       // for the host, or for room in the completion queue
  std::map<std::pair<name, std::uint64_t>, std::uint64_t> partial;  // packets of a put with data that are here
};

inline bool has(std::uint64_t bits, std::uint64_t bit) noexcept { return (bits & bit) == bit; }

// The parts of the provider, one file each.
int open_domain(fid_fabric* in, fi_info* info, fid_domain** out, void* context);
int open_addresses(fid_domain* in, fi_av_attr* attr, fid_av** out, void* context);
int open_queue(fid_domain* in, fi_cq_attr* attr, fid_cq** out, void* context);
int open_endpoint(fid_domain* in, fi_info* info, fid_ep** out, void* context);
int query_atomic(fid_domain* in, fi_datatype type, fi_op op, fi_atomic_attr* attr, std::uint64_t flags);
int try_wait(fid_fabric* in, fid** fids, int count);
fi_ops_rma* rma_operations();
fi_ops_atomic* atomic_operations();
/// The name that stands for ADDRESS, or null.
const name* name_of(const address_vector& v, fi_addr_t address);
/// The ones that are asked for and not there.
int no_bind(fid*, fid*, std::uint64_t);
int no_control(fid*, int, void*);
int no_open(fid*, const char*, std::uint64_t, void**, void*);

/// Whether there is such an atomic; FLAGS are those of fi_query_atomic.
bool offers(fi_datatype type, fi_op op, std::uint64_t flags);
std::size_t word_bytes(fi_datatype type);
/// What OP makes of the word OLD.
std::uint64_t changed(fi_datatype type, fi_op op, std::uint64_t old, std::uint64_t operand, std::uint64_t compare);

/// What any operation asks for before it is posted.
struct posting {
  verb what = verb::put;
  std::vector<iovec> local{};  // sources of a put or an atomic, or where a get goes
  void** desc = nullptr;
  fi_addr_t peer = 0;
  std::vector<fi_rma_iov> remote{};
  void* context = nullptr;
  std::uint64_t data = 0;
  std::uint64_t flags = 0;
  // An atomic's.
  fi_datatype datatype = FI_UINT64;
  fi_op op = FI_SUM;
  iovec result{};
  void* result_desc = nullptr;
  iovec compare{};
  void* compare_desc = nullptr;
};
ssize_t post(endpoint& e, const posting& p);

/// Moves what is under way: what a device does by itself, and as the HOST what waits for the program's calls.
void move(endpoint& e, bool as_host);
void run_device(endpoint& e);

}  // namespace tobi::emulators::fabric
