# SPDX-License-Identifier: Apache-2.0
# What speaks MPI is a plugin, compiled once for each library: they have no common binary interface. The library itself has the
# loader of the plugins alone, so this port is built whether or not a part is there.
needs_ompi  := ompi-c libopenmpi-dev
needs_mpich := mpich libmpich-dev
tests_ompi  := openmpi-bin
tests_mpich := mpich
sources_mpi := loader.cc

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

# The raw loop of tobi-perf, once for each library too.
perf_plugins := $(patsubst $(OUT)/lib/libtobi-mpi-%,$(OUT)/lib/libtobi-perf-mpi-%,$(mpi_plugins))
$(OUT)/lib/libtobi-perf-mpi-%.so: transports/mpi/raw_lane_plugin.cc FORCE
	$(call made,MPI,$(mpi_compile) $< $(mpi_libs_$*))
# Where it once was, as a build of that time has written down.
tools/perf/raw_mpi.cc: ;
