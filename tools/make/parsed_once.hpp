// SPDX-License-Identifier: Apache-2.0
// What nearly every unit of the library includes: tools/make/units.mk compiles it once for each set of flags. Our own
// headers stay out, and those of the system's calls, which are quick to read.
#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>
