# Tobiuo. `make help` lists the targets; README.md says more. One Makefile, not recursive: each folder names its own files in
# its module.mk. Output goes to build/MODE.
.DEFAULT_GOAL := all
MODE   ?= release
PREFIX ?= /usr/local
CXX    ?= g++
ifeq ($(origin CXX),default)
CXX := g++
endif
ARCH   := $(firstword $(subst -, ,$(shell $(CXX) -dumpmachine 2>/dev/null || uname -m)))
OUT    := build/$(MODE)
VERSION := 0.1.0

mode_release := -O3 -g
mode_debug   := -O0 -g3
mode_asan    := -O1 -g1 -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer
mode_tsan    := -O1 -g1 -fsanitize=thread -Wno-error=tsan
ifndef mode_$(MODE)
$(error MODE=$(MODE) is not one of release, debug, asan (with undefined behaviour), tsan)
endif

# GCC 12's -Wrestrict sees overlaps in std::string's operator+ that are not there (GCC bug 105651).
WARN     := -Wall -Wextra -Wconversion -Wshadow -Werror -Wno-restrict
CXXFLAGS := -std=c++20 $(mode_$(MODE)) $(WARN) -fPIC -I. -Ilibcore/include -DTOBI_VERSION='"$(VERSION)"' $(EXTRA_CXXFLAGS)
LDFLAGS  := $(mode_$(MODE)) $(EXTRA_LDFLAGS)
LIBS     := -lhwloc -lpthread -ldl -lm
Q        := $(if $(V),,@)
say       = @printf '  %-5s %s\n' $(1) $(2)

# What the optional parts are, found once: build/config.mk (see .ci/configure).
-include build/config.mk

objects = $(patsubst %,$(OUT)/obj/%.o,$(basename $(1)))
LIB := $(OUT)/lib/libtobi.a
SO  := $(OUT)/lib/libtobi.so.$(VERSION)
lib_sources :=
include arch/module.mk alloc/module.mk bootstrap/module.mk transports/module.mk libcore/module.mk tools/module.mk tests/module.mk
lib_objects := $(call objects,$(lib_sources)) $(OUT)/obj/alloc/jemalloc.o

.SECONDARY:
.PHONY: all demo check bench install clean help build-all programs libraries tests
all:
	$(Q)test -f build/config.mk || CXX=$(CXX) .ci/configure
	$(Q)$(MAKE) --no-print-directory build-all
build-all: libraries programs
libraries: $(LIB) $(SO) $(mpi_plugins) $(OUT)/lib/tobi.pc $(OUT)/lib/cmake/tobi/tobiConfig.cmake
programs: $(tool_programs) $(example_programs) $(perf_plugins)
tests: $(test_programs)

$(OUT)/obj/%.o: %.cc
	@mkdir -p $(@D)
	$(call say,CXX,$<)
	$(Q)$(CXX) $(CXXFLAGS) $(flags_$(subst /,_,$(*D))) -MMD -MP -c $< -o $@
$(OUT)/obj/%.o: %.S
	@mkdir -p $(@D)
	$(call say,AS,$<)
	$(Q)$(CXX) -g -MMD -MP -c $< -o $@
$(OUT)/obj/%.elided.o: %.cc
	@mkdir -p $(@D)
	$(call say,CXX,"$< (elided)")
	$(Q)$(CXX) $(CXXFLAGS) $(flags_$(subst /,_,$(*D))) -DTOBI_ELIDE -MMD -MP -c $< -o $@
$(LIB): $(lib_objects)
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar crs $@ $^
$(SO): $(lib_objects) libcore/libtobi.map
	@mkdir -p $(@D)
	$(call say,LINK,$@)
	$(Q)$(CXX) -shared -Wl,-soname,libtobi.so.0 -Wl,--version-script=libcore/libtobi.map -Wl,-z,defs $(LDFLAGS) -o $@ $(lib_objects) $(LIBS)
	$(Q)ln -sf $(@F) $(@D)/libtobi.so.0 && ln -sf $(@F) $(@D)/libtobi.so
$(OUT)/lib/tobi.pc: libcore/tobi.pc.in Makefile
	@mkdir -p $(@D)
	$(Q)sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' $< > $@
$(OUT)/lib/cmake/tobi/tobiConfig.cmake: libcore/tobiConfig.cmake.in Makefile
	@mkdir -p $(@D)
	$(Q)sed 's|@VERSION@|$(VERSION)|' $< > $@
	$(Q)sed 's|@VERSION@|$(VERSION)|' libcore/tobiConfigVersion.cmake.in > $(@D)/tobiConfigVersion.cmake

demo:
	$(Q).ci/packages demo && $(MAKE) --no-print-directory all
	$(Q)$(OUT)/bin/tobi-bench uts --tree T1L --verify --efficiency --progress
check:
	$(Q).ci/packages check && $(MAKE) --no-print-directory -j2 all && $(MAKE) --no-print-directory -j2 tests
	$(Q)OUT=$(OUT) MAKE="$(MAKE)" CXX=$(CXX) .ci/check
bench:
	$(Q).ci/packages check && $(MAKE) --no-print-directory all && $(MAKE) --no-print-directory $(perf_test_programs)
	$(Q)OUT=$(OUT) tests/perf/run

install: all
	$(Q)mkdir -p $(DESTDIR)$(PREFIX)/include $(DESTDIR)$(PREFIX)/lib/pkgconfig $(DESTDIR)$(PREFIX)/lib/cmake $(DESTDIR)$(PREFIX)/bin
	$(Q)cp -r libcore/include/tobi $(DESTDIR)$(PREFIX)/include/
	$(Q)cp -P $(LIB) $(SO) $(OUT)/lib/libtobi.so.0 $(OUT)/lib/libtobi.so $(mpi_plugins) $(perf_plugins) $(DESTDIR)$(PREFIX)/lib/
	$(Q)sed 's|@PREFIX@|$(PREFIX)|; s|@VERSION@|$(VERSION)|' libcore/tobi.pc.in > $(DESTDIR)$(PREFIX)/lib/pkgconfig/tobi.pc
	$(Q)cp -r $(OUT)/lib/cmake/tobi $(DESTDIR)$(PREFIX)/lib/cmake/
	$(Q)cp $(tool_programs) $(DESTDIR)$(PREFIX)/bin/
clean:
	$(Q)rm -rf build
help:
	@echo 'make            build the libraries, tools and examples        make demo     install packages, build, run a tree of 102 million tasks'
	@echo 'make check      install packages, run every test              make bench    run the measurements (nothing is asserted)'
	@echo 'make install    to PREFIX=$(PREFIX), under DESTDIR             make clean    remove build/'
	@echo 'MODE=release|debug|asan|tsan   CXX=compiler   V=1 shows the commands'

-include $(shell find $(OUT)/obj -name '*.d' 2>/dev/null)
