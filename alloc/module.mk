# SPDX-License-Identifier: Apache-2.0
lib_sources += alloc/segment.cc alloc/heap.cc alloc/remote_objects.cc alloc/small_objects.cc alloc/tsd.cc

# jemalloc as part of Tobiuo: Debian's exports malloc and free, and a program that links Tobiuo must keep its own. So its
# objects become one, in which only what alloc/heap.cc calls is visible, under our prefix. Its thread-local data becomes
# ordinary data (alloc/tsd_by_offset.cc). It reads nothing from outside: MALLOC_CONF and /etc/malloc.conf are a site's, for programs
# whose malloc is jemalloc. Its constructor goes, which would come before that data can be found: the first call does the same.
JEMALLOC_ARCHIVE ?= $(shell pkg-config --variable=libdir jemalloc 2>/dev/null)/libjemalloc_pic.a
# Where CXX is a cross compiler, CROSS is the prefix of its binutils, and BUILD_CXX compiles for this machine.
BUILD_CXX ?= $(CXX)
je_names  := mallocx dallocx mallctl
je_shared := mmap pthread_atfork pthread_key_create pthread_setspecific getenv secure_getenv readlink
je_made   := $(OUT)/obj/alloc/jemalloc

$(OUT)/obj/alloc/tsd_by_offset: alloc/tsd_by_offset.cc
	@mkdir -p $(@D)
	$(call say,CXX,$@)
	$(Q)$(BUILD_CXX) -std=c++20 -O1 $(WARN) -o $@ $<

$(OUT)/obj/alloc/jemalloc.o: $(JEMALLOC_ARCHIVE) alloc/module.mk $(OUT)/obj/alloc/tsd_by_offset
	@mkdir -p $(je_made)
	$(call say,LD,"jemalloc (private copy)")
	$(Q)cd $(je_made) && rm -f *.o && $(CROSS)ar x $< && rm -f jemalloc_cpp*.o && $(CROSS)ld -r -o ../jemalloc-all.o *.o
	$(Q)$(CROSS)objcopy $(foreach n,$(je_names) $(je_shared),--redefine-sym $(n)=tobi_je_$(n)) --redefine-sym je_tsd_tls=tobi_je_tsd_offset \
	  --rename-section .tdata=.data.tsd,alloc,load,data,contents -R .init_array -R .rela.init_array $(je_made)-all.o $(je_made)-named.o
	$(Q)$(OUT)/obj/alloc/tsd_by_offset $(je_made)-named.o
	$(Q)$(CROSS)objcopy --add-symbol tobi_je_tsd=.data.tsd:0,global,object $(foreach n,$(je_names),--keep-global-symbol=tobi_je_$(n)) \
	  --keep-global-symbol=tobi_je_tsd $(je_made)-named.o $@
	$(Q)rm -rf $(je_made) $(je_made)-all.o $(je_made)-named.o
