lib_sources += transports/select.cc transports/self/setup.cc transports/self/datapath.cc \
               transports/shm/setup.cc transports/shm/datapath.cc transports/peer_memory.cc \
               transports/sim/setup.cc transports/sim/datapath.cc transports/sim/nic.cc transports/route/route.cc \
               transports/soft/amo.cc transports/soft/amo_server.cc transports/soft/board.cc \
               transports/wrap/wrap.cc transports/wrap/stats.cc transports/wrap/trace.cc transports/wrap/fault.cc

# Backends whose vendor's headers are optional when Tobiuo is built. Their libraries are loaded when they are used.
flags_transports := $(if $(HAVE_ofi),-DTOBI_HAVE_OFI) $(if $(HAVE_verbs),-DTOBI_HAVE_VERBS)
ifdef HAVE_ofi
lib_sources += transports/ofi/library.cc transports/ofi/provider.cc transports/ofi/setup.cc transports/ofi/datapath.cc
endif
ifdef HAVE_verbs
lib_sources += transports/verbs/library.cc transports/verbs/device.cc transports/verbs/wireup.cc transports/verbs/setup.cc \
               transports/verbs/datapath.cc
endif
