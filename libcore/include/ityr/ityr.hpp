// SPDX-License-Identifier: Apache-2.0
// Programs written for Itoyori, compiled against Tobiuo: its public names, on top of tobi/tobi.hpp. See README.md here.
#pragma once
#ifndef TOBI_HEADER_WARNINGS
#pragma GCC system_header
#endif

// Programs count on what Itoyori's header includes.
#include <unistd.h>

#include <algorithm>
#include <cassert>
#include <chrono>
#include <clocale>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

#include "ityr/checkout.hpp"
#include "ityr/execution.hpp"
#include "ityr/global_ptr.hpp"
#include "ityr/global_vector.hpp"
#include "ityr/iterator.hpp"
#include "ityr/loop.hpp"
#include "ityr/memory.hpp"
#include "ityr/order.hpp"
#include "ityr/reduce.hpp"
#include "ityr/reducer.hpp"
#include "ityr/reducer_extra.hpp"
#include "ityr/runtime.hpp"
#include "ityr/task.hpp"
#include "ityr/unique_file_ptr.hpp"
#include "ityr/workhint.hpp"
