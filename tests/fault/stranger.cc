// SPDX-License-Identifier: Apache-2.0
// A process that is none of a job's, and what it can do to it. Written against libfabric and the system alone.
//
//   stranger keys PID...    connects to the workers' ports over tcp;ofi_rxm, as their peers do, and tries to read, to
//                           add to and to write the memory that they have registered, with one key after another.
//   stranger noise PID...   connects to the ports with plain sockets: garbage, beginnings of messages, silence.
//   stranger files PID...   tries to open, map or read what belongs to the processes.
//
// It prints `tried N refused R got M`: M is 0 where the job keeps it out.
#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_rma.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace {

unsigned tried = 0;
unsigned got = 0;
unsigned refused = 0;  // by somebody who was reached

double now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) / 1e9;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> all;
  DIR* open = opendir(folder.c_str());
  if (open == nullptr) return all;
  while (const dirent* d = readdir(open)) {
    if (d->d_name[0] != '.') all.emplace_back(d->d_name);
  }
  closedir(open);
  return all;
}

// Where a process listens: its sockets among those of the kernel's table that are in state 0A.
std::vector<sockaddr_in> ports_of(const std::string& pid) {
  std::set<std::string> inodes;
  const std::string folder = "/proc/" + pid + "/fd";
  for (const std::string& fd : names_in(folder)) {
    char to[64] = "";
    if (readlink((folder + "/" + fd).c_str(), to, sizeof to - 1) <= 0 || std::strncmp(to, "socket:[", 8) != 0) continue;
    inodes.insert(std::string(to + 8, std::strlen(to) - 9));
  }
  std::vector<sockaddr_in> all;
  std::ifstream table("/proc/" + pid + "/net/tcp");
  std::string line;
  while (std::getline(table, line)) {
    unsigned address = 0;
    unsigned port = 0;
    unsigned state = 0;
    char inode[32] = "";
    if (std::sscanf(line.c_str(), " %*u: %8X:%4X %*8X:%*4X %2X %*s %*s %*s %*s %*s %31s", &address, &port, &state,
                    inode) != 4 ||
        state != 0x0a || inodes.count(inode) == 0) {
      continue;
    }
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = address != 0 ? address : htonl(INADDR_LOOPBACK);
    at.sin_port = htons(static_cast<std::uint16_t>(port));
    all.push_back(at);
  }
  return all;
}

// Where a worker has its registered memory: the mappings of its files without a name.
std::vector<std::uint64_t> memory_of(const std::string& pid) {
  std::vector<std::uint64_t> all;
  std::ifstream maps("/proc/" + pid + "/maps");
  std::string line;
  while (std::getline(maps, line)) {
    if (line.find("/memfd:tobi ") != std::string::npos) all.push_back(std::strtoull(line.c_str(), nullptr, 16));
  }
  return all;
}

// --- over libfabric ---

fi_info* info = nullptr;
fid_fabric* fab = nullptr;
fid_domain* domain = nullptr;

bool find_fabric() {
  setenv("FI_OFI_RXM_BUFFER_SIZE", "1024", 1);  // rxm refuses peers with other buffers than its own
  fi_info* hints = fi_allocinfo();
  hints->caps = FI_RMA | FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_ATOMIC;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  hints->fabric_attr->prov_name = strdup("tcp;ofi_rxm");
  if (fi_getinfo(FI_VERSION(1, 11), nullptr, nullptr, 0, hints, &info) != 0) return false;
  while (info->addr_format != FI_SOCKADDR_IN && info->next != nullptr) info = info->next;
  return fi_fabric(info->fabric_attr, &fab, nullptr) == 0 && fi_domain(fab, info, &domain, nullptr) == 0;
}

// An endpoint of its own for each guess: a wrong one ends its connection.
class visitor {
 public:
  explicit visitor(const sockaddr_in& port) {
    fi_cq_attr cq_attr{};
    cq_attr.format = FI_CQ_FORMAT_CONTEXT;
    fi_av_attr av_attr{};
    av_attr.type = FI_AV_TABLE;
    const bool ready = fi_cq_open(domain, &cq_attr, &cq_, nullptr) == 0 &&
                       fi_av_open(domain, &av_attr, &av_, nullptr) == 0 &&
                       fi_endpoint(domain, info, &ep_, nullptr) == 0 && fi_ep_bind(ep_, &av_->fid, 0) == 0 &&
                       fi_ep_bind(ep_, &cq_->fid, FI_TRANSMIT | FI_RECV) == 0 && fi_enable(ep_) == 0 &&
                       fi_av_insert(av_, &port, 1, &to_, 0, nullptr) == 1;
    if (!ready) std::exit(3);
  }
  ~visitor() {
    fi_close(&ep_->fid);
    fi_close(&av_->fid);
    fi_close(&cq_->fid);
  }
  visitor(const visitor&) = delete;
  visitor& operator=(const visitor&) = delete;

  bool reads(std::uint64_t at, std::uint64_t key) {
    return attempt([&] { return fi_read(ep_, word_, 8, nullptr, to_, at, key, &context_); });
  }
  bool writes(std::uint64_t at, std::uint64_t key) {
    return attempt([&] { return fi_write(ep_, word_, 8, nullptr, to_, at, key, &context_); });
  }
  bool adds_nothing(std::uint64_t at, std::uint64_t key) {
    word_[1] = 0;
    return attempt([&] {
      return fi_fetch_atomic(ep_, &word_[1], 1, nullptr, word_, nullptr, to_, at, key, FI_UINT64, FI_SUM, &context_);
    });
  }

 private:
  template <class Post>
  bool attempt(Post post) {
    ++tried;
    bool sent = false;
    for (const double end = now() + 1; now() < end;) {
      if (!sent) {
        const ssize_t status = post();
        if (status != 0 && status != -FI_EAGAIN) return false;
        sent = status == 0;
      }
      fi_cq_entry done;
      const ssize_t n = fi_cq_read(cq_, &done, 1);
      if (n == 1) return true;
      if (n == -FI_EAVAIL) {
        fi_cq_err_entry why{};
        fi_cq_readerr(cq_, &why, 0);
        ++refused;
        return false;
      }
    }
    return false;
  }

  fid_cq* cq_ = nullptr;
  fid_av* av_ = nullptr;
  fid_ep* ep_ = nullptr;
  fi_addr_t to_ = FI_ADDR_UNSPEC;
  fi_context2 context_{};
  std::uint64_t word_[2] = {0, 0};
};

void try_keys(const std::vector<std::string>& pids) {
  if (!find_fabric()) {
    std::puts("libfabric has no tcp;ofi_rxm");
    std::exit(77);
  }
  const double end = now() + 5;  // the job does not wait
  for (const std::string& pid : pids) {
    std::vector<std::uint64_t> memory = memory_of(pid);
    memory.push_back(0);  // where a provider counts from a region's begin
    for (const sockaddr_in& port : ports_of(pid)) {
      for (std::uint64_t key = 0; key < 5 && now() < end; ++key) {
        for (const std::uint64_t at : memory) {
          visitor reader(port);
          if (reader.reads(at, key)) {
            ++got;
            // What was read is written again: a job that lets this happen is to fail for nothing else.
            if (reader.writes(at, key)) ++got;
          }
          visitor adder(port);
          if (adder.adds_nothing(at, key)) ++got;
        }
      }
    }
  }
}

// --- over sockets ---

int connected(const sockaddr_in& port) {
  const int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (connect(s, reinterpret_cast<const sockaddr*>(&port), sizeof port) == 0) return s;
  close(s);
  return -1;
}

void make_noise(const std::vector<std::string>& pids) {
  std::uint64_t state = 88172645463325252u;
  const auto random = [&] {
    state ^= state << 13;
    state ^= state >> 7;
    return state ^= state << 17;
  };
  std::vector<int> held;
  for (const std::string& pid : pids) {
    for (const sockaddr_in& port : ports_of(pid)) {
      for (unsigned i = 0; i < 120; ++i) {
        const int s = connected(port);
        if (s < 0) continue;
        ++tried;
        unsigned char bytes[256];
        for (unsigned char& b : bytes) b = static_cast<unsigned char>(random());
        bytes[0] = static_cast<unsigned char>(i % 8);      // such as a version
        bytes[1] = static_cast<unsigned char>(i / 8 % 8);  // and a kind of message
        bytes[2] = 0;
        bytes[3] = static_cast<unsigned char>(i);  // of so many bytes
        const std::size_t sent = i % 3 == 0 ? sizeof bytes : i % 3 == 1 ? 24 : 3;
        if (i % 5 != 0 && send(s, bytes, sent, MSG_NOSIGNAL) < 0) std::perror("send");
        if (i % 4 == 0) {
          held.push_back(s);
        } else {
          close(s);
        }
      }
    }
  }
  sleep(1);
  for (const int s : held) close(s);
}

// --- by the system ---

bool opens(const std::string& name) {
  const int fd = open(name.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return false;
  close(fd);
  return true;
}

void try_files(const std::vector<std::string>& pids) {
  const auto count = [](bool well, const std::string& what) {
    ++tried;
    if (!well) return;
    ++got;
    std::printf("# %s\n", what.c_str());
  };
  for (const std::string& pid : pids) {
    const std::string proc = "/proc/" + pid;
    count(!names_in(proc + "/fd").empty(), "the names of its descriptors");
    count(opens(proc + "/mem"), "its memory by /proc");
    for (int fd = 0; fd < 64; ++fd) {
      char target[128] = "";
      const std::string name = proc + "/fd/" + std::to_string(fd);
      const bool is_file =
          readlink(name.c_str(), target, sizeof target - 1) > 0 && std::strstr(target, "memfd:") != nullptr;
      count(is_file && opens(name), "descriptor " + std::to_string(fd) + " by its name");
    }
    const int whole = static_cast<int>(syscall(SYS_pidfd_open, std::atoi(pid.c_str()), 0));
    for (int fd = 0; fd < 64 && whole >= 0; ++fd) {
      const int copy = static_cast<int>(syscall(SYS_pidfd_getfd, whole, fd, 0));
      count(copy >= 0, "descriptor " + std::to_string(fd) + " by pidfd_getfd");
      if (copy >= 0) close(copy);
    }
    if (whole >= 0) close(whole);
    std::uint64_t word = 0;
    const iovec here{&word, sizeof word};
    for (const std::uint64_t at : {std::uint64_t{0x2000'0000'0000}, std::uint64_t{0x3000'0000'0000}}) {
      const iovec there{reinterpret_cast<void*>(at), sizeof word};
      count(process_vm_readv(std::atoi(pid.c_str()), &here, 1, &there, 1, 0) == sizeof word,
            "a word by process_vm_readv");
    }
    for (const std::string& file : names_in("/dev/shm")) {
      if (file.starts_with(pid + ":")) count(opens("/dev/shm/" + file), "/dev/shm/" + file);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 2 ? argv[1] : "";
  const std::vector<std::string> pids(argv + (argc > 2 ? 2 : argc), argv + argc);
  if (what == "keys") {
    try_keys(pids);
  } else if (what == "noise") {
    make_noise(pids);
  } else if (what == "files") {
    try_files(pids);
  } else {
    std::fputs("stranger keys|noise|files PID...\n", stderr);
    return 2;
  }
  std::printf("tried %u refused %u got %u\n", tried, refused, got);
}
