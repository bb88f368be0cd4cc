# SPDX-License-Identifier: Apache-2.0
lib_sources += arch/heavy_fence.cc arch/topology.cc arch/pages.cc arch/$(ARCH)/context.S
