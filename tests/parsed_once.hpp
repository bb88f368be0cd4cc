// SPDX-License-Identifier: Apache-2.0
// What nearly every unit test includes: tests/module.mk compiles it once for all of them. Our own headers stay out: GCC
// forgets the pragmas in what it has compiled before.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>
