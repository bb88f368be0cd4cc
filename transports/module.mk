# SPDX-License-Identifier: Apache-2.0
lib_sources += transports/settings.cc transports/registry.cc transports/probe.cc transports/nap.cc transports/host_atomics.cc transports/mpi/loader.cc transports/self/setup.cc transports/self/datapath.cc \
               transports/shm/setup.cc transports/shm/datapath.cc transports/peer_memory.cc \
               transports/sim/setup.cc transports/sim/datapath.cc transports/sim/nic.cc transports/route/route.cc \
               transports/soft/amo.cc transports/soft/amo_server.cc transports/soft/amo_client.cc \
               transports/soft/regions.cc transports/soft/placement.cc transports/soft/board.cc \
               transports/decorators/wrap.cc transports/decorators/stats.cc transports/decorators/trace.cc transports/decorators/fault.cc

# Backends whose vendor's headers are optional when Tobiuo is built. Their libraries are loaded when they are used.
flags_transports := $(if $(HAVE_ofi),-DTOBI_HAVE_OFI) $(if $(HAVE_verbs),-DTOBI_HAVE_VERBS)
ifdef HAVE_ofi
lib_sources += transports/ofi/library.cc transports/ofi/symbol_search.cc transports/ofi/provider.cc transports/ofi/setup.cc \
               transports/ofi/measure.cc transports/ofi/datapath.cc transports/ofi/left_behind.cc transports/ofi/sockets.cc
endif
ifdef HAVE_verbs
lib_sources += transports/verbs/library.cc transports/verbs/device.cc transports/verbs/wireup.cc transports/verbs/responders.cc transports/verbs/queue_pair.cc transports/verbs/setup.cc \
               transports/verbs/datapath.cc
endif

# What speaks MPI is a plugin, compiled once for each library: they have no common binary interface.
mpi_sources := transports/mpi/setup.cc transports/mpi/datapath.cc transports/mpi/plugin_services.cc bootstrap/mpi/exchange.cc
mpi_plugins := $(if $(HAVE_ompi),$(OUT)/lib/libtobi-mpi-openmpi.so) $(if $(HAVE_mpich),$(OUT)/lib/libtobi-mpi-mpich.so)
ifdef HAVE_ompi
mpi_flags_openmpi := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I ompi-c))
mpi_libs_openmpi  := $(shell pkg-config --libs ompi-c)
endif
ifdef HAVE_mpich
mpi_flags_mpich := $(patsubst -I%,-isystem %,$(shell pkg-config --cflags-only-I mpich))
mpi_libs_mpich  := -lmpich
endif
mpi_compile = $(CXX) $(CXXFLAGS) -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX -Wno-conversion -Wno-cast-function-type \
              $(mpi_flags_$*) -fvisibility=hidden -MMD -MP -MF $(OUT)/obj/$(@F).d -MT $@ -shared -Wl$(comma)-soname$(comma)$(@F) -Wl$(comma)-Bsymbolic $(LDFLAGS) -o $@
# One command compiles four sources, and writes down the headers of the last alone.
mpi_headers := $(wildcard $(addsuffix /*.hpp,arch transports transports/mpi transports/soft bootstrap bootstrap/mpi libcore/base libcore/include/tobi))
$(OUT)/lib/libtobi-mpi-%.so: $(mpi_sources) $(mpi_headers) FORCE
	$(call made,MPI,$(mpi_compile) -Wl$(comma)-z$(comma)defs $(mpi_sources) $(mpi_libs_$*))
