// SPDX-License-Identifier: Apache-2.0
// The command line of the programs over task collections.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <charconv>
#include <string>
#include <system_error>
#include <vector>

#include "tools/bench/subcommands.hpp"
#include "tools/bench/tce/tce.hpp"

namespace tobi_bench {

namespace {

// Of 1 to 8 spatial blocks, with commas between them.
std::vector<std::size_t> sizes_in(const char* option, const std::string& text) {
  std::vector<std::size_t> sizes;
  for (const char *at = text.data(), *end = at + text.size();; ++at) {
    std::size_t size = 0;
    const auto [behind, error] = std::from_chars(at, end, size);
    const bool right = error == std::errc() && size >= 1 && size <= tce_values_most && sizes.size() < 8;
    if (!right || (behind != end && *behind != ',')) {
      throw CLI::ValidationError(
          option, fmt::format("'{}' is no list of 1 to 8 sizes from 1 to {}, such as 24,18", text, tce_values_most));
    }
    sizes.push_back(size);
    if (behind == end) return sizes;
    at = behind;
  }
}

}  // namespace

void scheme_options_of(CLI::App& sub, arguments& a) {
  std::vector<std::string> names;
  for (const named_scheme& s : named_schemes) names.emplace_back(s.name);
  sub.add_option_function<std::string>(
         "--scheme",
         [&a](const std::string& name) {
           for (const named_scheme& s : named_schemes) {
             if (s.name == name) a.collection.how = s.which;
           }
         },
         "which worker executes which task")
      ->default_str(std::string(name_of(a.collection.how)))
      ->check(CLI::IsMember(names));
  sub.add_option("--iterations", a.collection.iterations, "iterations behind the first one, at most")
      ->capture_default_str()
      ->check(CLI::Range(0, 10000));
  common_options(sub, a, "runs, each from its beginning (default: 1)");
  sub.add_flag("--verify", a.verify, "compare with a reference, and count the executions of each task");
}

void add_hf(CLI::App& app, arguments& a) {
  auto* hf = app.add_subcommand("hf", "Hartree-Fock: the two-electron part by a task collection");
  hf->add_option("--molecule", a.hf.molecule, "a cluster of beryllium, an atom of helium, or hydrogen")
      ->capture_default_str()
      ->check(CLI::IsMember({"be", "he", "h2"}));
  hf->add_option("--basis", a.hf.basis,
                 "the s functions of this set: 6-31g (be alone) or sto-3g (default: 6-31g for be)")
      ->check(CLI::IsMember({"6-31g", "sto-3g"}));
  hf->add_option("--layout", a.hf.layout, "of the cluster: chain, or crystal, of which it is a ball")
      ->capture_default_str()
      ->check(CLI::IsMember({"chain", "crystal"}));
  hf->add_option("--atoms", a.hf.atoms, "of the cluster")->capture_default_str()->check(CLI::Range(1, 256));
  hf->add_option("--tile", a.hf.tile, "functions along the side of a tile")
      ->capture_default_str()
      ->check(CLI::Range(1, 128));
  hf->add_option("--threshold", a.hf.threshold, "integrals below it are left out (Schwarz)")
      ->capture_default_str()
      ->check(CLI::Range(1e-16, 1e-2));
  scheme_options_of(*hf, a);
}

void add_tce(CLI::App& app, arguments& a) {
  auto* tce = app.add_subcommand("tce", "a tensor contraction over tiles by a task collection");
  const auto sizes = [&](const char* name, std::vector<std::size_t>& of, const char* help) {
    tce->add_option_function<std::string>(
           name, [&of, name](const std::string& text) { of = sizes_in(name, text); }, help)
        ->default_str(fmt::format("{}", fmt::join(of, ",")));
  };
  sizes("--blocks", a.tce.blocks, "values of the outer indices in each spatial block, with commas");
  sizes("--inner", a.tce.inner, "values of the indices that are summed over in each spatial block, with commas");
  tce->add_option("--tile", a.tce.tile, "values of an index along a tile")
      ->capture_default_str()
      ->check(CLI::Range(1, 40));
  tce->add_option("--seed", a.tce.seed, "of the tensors")->capture_default_str();
  scheme_options_of(*tce, a);
}

}  // namespace tobi_bench
