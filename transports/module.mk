# SPDX-License-Identifier: Apache-2.0
# A port is a folder with a module.mk. All *.cc of the folder are its sources; raw_lane.cc is the loop of tobi-perf --raw over the
# library's own calls. Its settings are the setting_rows of its settings.hpp. Its module.mk is found, and may say, NAME being the
# folder:
#
#   needs_PART := MODULE PACKAGE [demo]  a library's headers: what pkg-config calls it, or a header's name (x.h), and the Debian
#                                        package that has it, or - where there is none. make looks for it, make check and make deb
#                                        install it, and with `demo` make demo too. Where PART is NAME and is not there, not_built.cc
#                                        is compiled in place of the other sources
#   tests_PART := PACKAGE...             what else make check installs
#   sources_NAME := FILE.cc...           the sources, where not all of the folder are
#   cold_NAME := FILE.cc...              sources off the paths that count, besides setup.cc, library.cc and loader.cc
#   flags_transports_NAME := -I...       flags of the compiler for the folder's files
#   raw_libs_NAME := -l...               libraries that raw_lane.cc is linked with
include $(wildcard transports/*/module.mk)
ports := $(patsubst transports/%/module.mk,%,$(wildcard transports/*/module.mk))

# $(call port_is_built,NAME): not empty where the library's headers are there, or none are asked for.
port_is_built = $(if $(needs_$(1)),$(HAVE_$(1)),1)
port_sources  = $(or $(sources_$(1)),$(filter-out not_built.cc raw_%,$(notdir $(wildcard transports/$(1)/*.cc))))
lib_sources  += $(wildcard transports/*.cc transports/route/*.cc transports/soft/*.cc transports/decorators/*.cc) \
                $(foreach p,$(ports),$(addprefix transports/$(p)/,$(if $(call port_is_built,$(p)),$(call port_sources,$(p)),not_built.cc)))
raw_sources  := $(foreach p,$(ports),$(if $(call port_is_built,$(p)),$(wildcard transports/$(p)/raw_lane.cc)))
raw_libs     := $(foreach p,$(ports),$(if $(call port_is_built,$(p)),$(raw_libs_$(p))))

# What starts and ends jobs; tools/make/units.mk compiles it as one unit, which has the flags of all folders.
cold_transports  := $(addprefix transports/,registry.cc probe.cc peer_memory.cc soft/placement.cc %/setup.cc %/library.cc %/loader.cc %/not_built.cc) \
                    $(foreach p,$(ports),$(addprefix transports/$(p)/,$(cold_$(p))))
flags_transports := -I$(OUT)/obj $(foreach p,$(ports),$(flags_transports_$(p)))

# The settings of all folders of this one, for transports/settings.cc.
settings_folders := $(sort $(patsubst transports/%/settings.hpp,%,$(wildcard transports/*/settings.hpp)))
found_settings   := $(OUT)/obj/transports/found_settings.hpp
name_settings     = { printf '$(hash)include "transports/%s/settings.hpp"\n' $(settings_folders) && printf '$(hash)define TOBI_FOUND_SETTINGS' && \
  printf ' transports::%s::setting_rows$(comma)' $(settings_folders) && echo; } >$@
$(found_settings): FORCE
	$(call made,FOUND,$(name_settings))
$(call objects,transports/settings.cc): $(found_settings)
