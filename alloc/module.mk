lib_sources += alloc/segment.cc alloc/heap.cc alloc/remote_objects.cc

# jemalloc as part of Tobiuo: Debian's exports malloc and free, and a program that links Tobiuo must keep its own. So its
# objects become one, in which only what alloc/heap.cc calls is visible, under our prefix.
JEMALLOC_ARCHIVE ?= $(shell pkg-config --variable=libdir jemalloc 2>/dev/null)/libjemalloc_pic.a
je_names := mallocx dallocx mallctl

$(OUT)/obj/alloc/jemalloc.o: $(JEMALLOC_ARCHIVE) alloc/module.mk
	@mkdir -p $(@D)/jemalloc
	$(call say,LD,"jemalloc (private copy)")
	$(Q)cd $(@D)/jemalloc && rm -f *.o && ar x $< && rm -f jemalloc_cpp*.o && ld -r -o ../jemalloc-all.o *.o
	$(Q)objcopy $(foreach n,$(je_names),--redefine-sym $(n)=tobi_je_$(n)) $(@D)/jemalloc-all.o $(@D)/jemalloc-named.o
	$(Q)objcopy $(foreach n,$(je_names),--keep-global-symbol=tobi_je_$(n)) $(@D)/jemalloc-named.o $@
	$(Q)rm -rf $(@D)/jemalloc $(@D)/jemalloc-all.o $(@D)/jemalloc-named.o
