// SPDX-License-Identifier: Apache-2.0
// A libfabric that goes wrong where WRONG says, and is the real one (REAL is its path) everywhere else. tobi-info must
// survive each of its ways.
#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace {

template <class Function>
Function real(const char* name) {
  static void* const library = dlopen(std::getenv("REAL"), RTLD_NOW | RTLD_LOCAL);
  return reinterpret_cast<Function>(dlsym(library, name));
}

bool wrong(const char* how) {
  const char* wanted = std::getenv("WRONG");
  return wanted != nullptr && std::strcmp(wanted, how) == 0;
}

// What tobi-info has asked this process to do is among its arguments.
bool measuring() {
  char text[4096];
  const int fd = open("/proc/self/cmdline", O_RDONLY);
  const ssize_t n = read(fd, text, sizeof text);
  close(fd);
  return n > 0 && memmem(text, static_cast<std::size_t>(n), "measure ", 8) != nullptr;
}

void crash() { raise(SIGSEGV); }

}  // namespace

extern "C" {

int fi_getinfo(std::uint32_t version, const char* node, const char* service, std::uint64_t flags, const void* hints,
               void** info) {
  if (wrong("crash")) crash();
  if (wrong("hang")) pause();
  if (wrong("abort")) std::abort();
  if (wrong("exit")) _exit(0);
  return real<decltype(&fi_getinfo)>("fi_getinfo")(version, node, service, flags, hints, info);
}
void fi_freeinfo(void* info) { real<decltype(&fi_freeinfo)>("fi_freeinfo")(info); }
void* fi_dupinfo(const void* info) { return real<decltype(&fi_dupinfo)>("fi_dupinfo")(info); }
int fi_fabric(void* attributes, void** fabric, void* context) {
  if (wrong("open")) crash();
  if (wrong("measure") && measuring()) crash();
  if (wrong("measure-hang") && measuring()) pause();
  return real<decltype(&fi_fabric)>("fi_fabric")(attributes, fabric, context);
}
const char* fi_strerror(int error) { return real<decltype(&fi_strerror)>("fi_strerror")(error); }
std::uint32_t fi_version() { return real<decltype(&fi_version)>("fi_version")(); }

}  // extern "C"
