// SPDX-License-Identifier: Apache-2.0
// What every tool that reads arguments and prints includes: tools/module.mk compiles it once.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>
