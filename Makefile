# SPDX-License-Identifier: Apache-2.0
# Tobiuo. `make help` lists the targets; README.md says more. One Makefile, not recursive: each folder names its own files in
# its module.mk. Output goes to build/MODE.
.DEFAULT_GOAL := all
MODE   ?= release
PREFIX ?= /usr/local
LIBDIR ?= $(PREFIX)/lib
CXX    ?= g++
ifeq ($(origin CXX),default)
CXX := g++
endif
ARCH   := $(firstword $(subst -, ,$(shell $(CXX) -dumpmachine 2>/dev/null || uname -m)))
OUT    := build/$(MODE)
VERSION := 0.1.0
SONAME  := libtobi.so.$(firstword $(subst ., ,$(VERSION)))

# Line tables say where a program was; the values of variables, mostly gone at -O3, would cost a fifth of the time to compile.
mode_release := -O3 -g1
mode_debug   := -O0 -g3 -DTOBI_INVARIANTS
mode_asan    := -O0 -g1 -DTOBI_INVARIANTS -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
mode_tsan    := -O1 -g1 -DTOBI_INVARIANTS -fsanitize=thread -Wno-error=tsan
ifndef mode_$(MODE)
$(error MODE=$(MODE) is not one of release, debug, asan (with undefined behaviour), tsan)
endif

# GCC 12's -Wrestrict sees overlaps in std::string's operator+ that are not there (GCC bug 105651).
WARN     := -Wall -Wextra -Wconversion -Wshadow -Werror -Wno-unknown-warning-option -Wno-restrict -DTOBI_HEADER_WARNINGS
CXXFLAGS := -std=c++20 $(mode_$(MODE)) $(WARN) -fPIC -I. -Ilibcore/include -DTOBI_VERSION='"$(VERSION)"' $(EXTRA_CXXFLAGS)
LDFLAGS  := $(mode_$(MODE)) $(EXTRA_LDFLAGS)
comma    := ,
hash     := \#
LIBS     := -lhwloc -lpthread -ldl -lm
Q        := $(if $(V),,@)
say       = @printf '  %-5s %s\n' $(1) $(2)

# $(call made,KIND,COMMAND) is the recipe of what COMMAND makes: it runs where $@ is older than what it is made of, and where
# another command has made it. So objects and programs follow the configuration and the flags. Its rules have FORCE among
# their prerequisites.
record  = $(OUT)/made/$(subst /,+,$(patsubst $(OUT)/%,%,$@))
differs = $(subst x$(strip $(1)),,x$(strip $(2)))$(subst x$(strip $(2)),,x$(strip $(1)))
made    = $(if $(filter-out FORCE,$?)$(call differs,$(2),$(file <$(record))),$(shell mkdir -p $(@D) $(OUT)/made)$(file \
  >$(record).new,$(2))$(Q)printf '  %-5s %s\n' $(1) $@ && $(2) && mv $(record).new $(record))

# What the optional parts are: build/config.mk, which make makes where it is missing (see tools/make/configure). What installs
# packages first starts another make afterwards.
ifneq ($(filter-out demo check flaky soak check-aarch64 cluster-shell bench new-transport docs manual dist deb clean help,$(or $(MAKECMDGOALS),all)),)
build/config.mk: tools/make/configure $(wildcard transports/*/module.mk)
	$(Q)CXX=$(CXX) tools/make/configure
include build/config.mk
endif

objects = $(patsubst %,$(OUT)/obj/%.o,$(basename $(1)))
LIB := $(OUT)/lib/libtobi.a
SO  := $(OUT)/lib/libtobi.so.$(VERSION)
lib_sources :=
include arch/module.mk alloc/module.mk bootstrap/module.mk transports/module.mk libcore/module.mk tools/make/units.mk \
        tools/module.mk tools/manual/module.mk tools/debian/module.mk tools/completion/module.mk tests/module.mk
lib_objects := $(call objects,$(lib_units)) $(OUT)/obj/alloc/jemalloc.o

.SECONDARY:
.PHONY: all demo check flaky soak check-aarch64 cluster-shell bench new-transport install clean help programs libraries tests FORCE
all: $(joined_objects) libraries programs
libraries: $(LIB) $(SO) $(mpi_plugins)
programs: $(tool_programs) $(example_programs) $(perf_plugins) $(fmm_mpi_program)
tests: $(test_programs) $(emulated_tofu)

compile = $(CXX) $(CXXFLAGS) $(flags_$(subst /,_,$(*D))) -MMD -MP -c $< -o $@
$(OUT)/obj/%.o: %.cc FORCE
	$(call made,CXX,$(compile))
$(OUT)/obj/%.o: %.S FORCE
	$(call made,AS,$(CXX) -g -MMD -MP -c $< -o $@)
$(OUT)/obj/%.elided.o: %.cc FORCE
	$(call made,CXX,$(compile) -DTOBI_ELIDE)
$(LIB): $(lib_objects) FORCE
	$(call made,AR,rm -f $@ && $(CROSS)ar crs $@ $(filter %.o,$^))
$(SO): $(lib_objects) libcore/libtobi.map FORCE
	$(call made,LINK,$(CXX) -shared -Wl$(comma)-soname$(comma)$(SONAME) -Wl$(comma)--version-script=libcore/libtobi.map -Wl$(comma)-z$(comma)defs \
	  $(LDFLAGS) -o $@ $(lib_objects) $(LIBS) && ln -sf $(@F) $(@D)/$(SONAME) && ln -sf $(@F) $(@D)/libtobi.so)

# A make of its own, on all cores unless it was told otherwise.
again = $(MAKE) --no-print-directory $(if $(findstring -j,$(MAKEFLAGS)),,-j$$(nproc))
demo:
	$(Q)tools/make/packages demo && $(again) $(OUT)/bin/tobi-bench
	$(Q)$(OUT)/bin/tobi-bench uts --tree T1L --verify --efficiency --progress
check soak flaky cluster-shell:
	$(Q)tools/make/packages check && rm -f build/config.mk && $(again) all tests
	$(Q)OUT=$(OUT) MAKE="$(MAKE)" CXX=$(CXX) $(if $(filter cluster-shell,$@),tests/hosts/site $(or $(HOSTS),3),tools/make/check $@)
check-aarch64:
	$(Q)tools/make/packages check && mkdir -p $(OUT)/bin && OUT=$(OUT) MAKE="$(MAKE)" tests/aarch64/runtime
bench:
	$(Q)tools/make/packages check && rm -f build/config.mk && $(again) all perf-tests
	$(Q)OUT=$(OUT) tests/perf/run

# A port of its own to fill in: make new-transport NAME=x.
new-transport:
	$(Q)CXX=$(CXX) tools/make/new_transport $(NAME)

# What others build with names the folders that it is installed to.
describe = $(Q)sed 's|@PREFIX@|$(PREFIX)|; s|@LIBDIR@|$(patsubst $(PREFIX)/%,$${prefix}/%,$(LIBDIR))|; s|@VERSION@|$(VERSION)|; s|@SONAME@|$(SONAME)|' \
  libcore/$(1).in | sed "s|@TO_INCLUDE@|$$(realpath -ms --relative-to=$(LIBDIR)/cmake/tobi $(PREFIX)/include)|" >$(DESTDIR)$(LIBDIR)/$(2)/$(1)
install: all install-manual install-completion
	$(Q)mkdir -p $(addprefix $(DESTDIR),$(PREFIX)/include $(PREFIX)/bin $(LIBDIR)/pkgconfig $(LIBDIR)/cmake/tobi)
	$(Q)cp -r libcore/include/tobi libcore/include/ityr $(DESTDIR)$(PREFIX)/include/ && rm -f $(addprefix $(DESTDIR)$(PREFIX)/include/,$(addsuffix /README.md,tobi ityr))
	$(Q)cp -P $(LIB) $(SO) $(addprefix $(OUT)/lib/,$(SONAME) libtobi.so) $(mpi_plugins) $(perf_plugins) $(DESTDIR)$(LIBDIR)/
	$(call describe,tobi.pc,pkgconfig)
	$(call describe,tobiConfig.cmake,cmake/tobi)
	$(call describe,tobiConfigVersion.cmake,cmake/tobi)
	$(Q)cp $(tool_programs) $(DESTDIR)$(PREFIX)/bin/
clean: ; $(Q)rm -rf build
help:
	@echo 'make            build the libraries, tools and examples        make demo     install packages, build, run a tree of 102 million tasks'
	@echo 'make check      install packages, run the gate (ONLY=pattern: tests by name; QUICK=1: those under five seconds)'
	@echo 'make soak       every test, with more rows and random seeds (MINUTES=n, ONLY=pattern)    make flaky    each test RUNS=4 times, idle and loaded'
	@echo 'make bench      run the measurements (nothing is asserted)      make check-aarch64    the runtime for AArch64, emulated'
	@echo 'make install    to PREFIX=$(PREFIX), libraries to LIBDIR, under DESTDIR   make clean    remove build/    make cluster-shell HOSTS=3    a shell that reaches hosts'
	@echo 'make docs       install pandoc and doxygen, make the man pages, an HTML site and the reference of the headers   make new-transport NAME=x    begin a port'
	@echo 'make dist       a source tarball                               make deb      Debian packages of it, in build/deb'
	@echo 'MODE=release|debug|asan|tsan   CXX=compiler   V=1 shows the commands'

-include $(shell find $(OUT)/obj -name '*.d' 2>/dev/null)
