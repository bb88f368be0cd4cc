# SPDX-License-Identifier: Apache-2.0
# The library is loaded when it is used; its raw loop in tobi-perf is linked with it.
needs_verbs    := libibverbs libibverbs-dev demo
tests_verbs    := ibverbs-providers ibverbs-utils perftest
cold_verbs     := device.cc wireup.cc responders.cc queue_pair.cc
raw_libs_verbs := -libverbs
