lib_sources += arch/topology.cc arch/pages.cc arch/$(ARCH)/context.S
