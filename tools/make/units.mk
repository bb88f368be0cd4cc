# SPDX-License-Identifier: Apache-2.0
# How sources become objects: what is compiled as one unit, and what is parsed once for many. Reading the standard headers is
# most of a unit's time. MODE=debug does neither, so that a missing include is noticed.

# What starts and ends jobs, or talks to people, is not on any path that counts; at -O3 it takes twice as long to compile.
cold := bootstrap/% arch/topology.cc arch/pages.cc alloc/segment.cc $(cold_transports) libcore/base/settings.cc \
        libcore/base/left_files.cc libcore/base/log.cc libcore/base/mpi_plugin.cc libcore/job/% libcore/trace/trace_file.cc libcore/trace/clock_fit.cc libcore/task/standstill.cc libcore/task/task_stacks.cc

# The cold sources of a folder are one unit, FOLDER/joined.cc. A sanitizer's build, which nobody measures, joins all of them.
cold_sources := $(foreach c,$(cold),$(filter $(c),$(lib_sources)))
join_release := $(cold_sources)
join_asan    := $(filter-out transports/nap.cc transports/settings.cc,$(filter %.cc,$(lib_sources)))  # tests/module.mk wants these two alone
join_tsan    := $(join_asan)
join         := $(join_$(MODE))
join_folders := $(foreach f,arch alloc bootstrap transports $(libcore_rooms:%=libcore/%),$(if $(filter $(f)/%,$(join)),$(f)))
lib_units    := $(addsuffix /joined.cc,$(join_folders)) $(filter-out $(join),$(lib_sources))
lib_joined   := $(patsubst %,$(OUT)/obj/%/joined.o,$(join_folders))
.PRECIOUS: $(OUT)/obj/%/joined.cc
$(OUT)/obj/%/joined.cc: FORCE
	$(call made,JOIN,printf '$(hash)include "%s"\n' $(filter $*/%,$(join)) > $@)
$(OUT)/obj/%.o: $(OUT)/obj/%.cc FORCE
	$(call made,CXX,$(compile))
$(lib_joined): private CXXFLAGS += -Wno-shadow -Wshadow=local  # a name of one file may be a local's in another
ifeq ($(MODE),release)
$(lib_joined) $(call objects,$(cold_sources)): private CXXFLAGS += -O1
endif

# $(call parsed_once,NAME,HEADER,OBJECTS,FLAGS): the objects find HEADER compiled. One for each set of flags: GCC 12 crashes over
# what was compiled at another -O. The header is beside it, for a compiler that cannot use it. Headers that were compiled before
# are no system headers to GCC any more: it sees overflows in std::string::replace() that are not there.
define parsed_once_rules
$(OUT)/obj/parsed/$(1).hpp.gch: private CXXFLAGS += $(4)
$(OUT)/obj/parsed/$(1).hpp.gch: $(2) FORCE
	$$(call made,CXX,cp $$< $$(basename $$@) && $$(CXX) $$(CXXFLAGS) -MMD -MP -x c++-header $$(basename $$@) -o $$@)
$(3): private CXXFLAGS += -include $(OUT)/obj/parsed/$(1).hpp -Wno-stringop-overflow -Wno-stringop-overread -Wno-array-bounds
$(3): $(OUT)/obj/parsed/$(1).hpp.gch
endef
parsed_once = $(if $(filter debug,$(MODE)),,$(eval $(call parsed_once_rules,$(1),$(2),$(3),$(4))))
$(call parsed_once,hot,tools/make/parsed_once.hpp,$(call objects,$(filter-out $(if $(filter release,$(MODE)),%/joined.cc) %.S,$(lib_units))))
