# SPDX-License-Identifier: Apache-2.0
# The library is loaded when it is used; its raw loop in tobi-perf is linked with it.
needs_ofi    := libfabric libfabric-dev demo
cold_ofi     := symbol_search.cc provider.cc measure.cc
raw_libs_ofi := -lfabric
