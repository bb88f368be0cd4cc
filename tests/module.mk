# SPDX-License-Identifier: Apache-2.0
# The tests, by kind. Every file of these folders is one; `make check` runs all of them (see tools/make/check). Those of jobs start
# whole jobs. Those of unit start none, so sanitizers can look at them; several fork a helper.
unit_sources    := $(sort $(wildcard tests/unit/*_test.cc))
job_sources     := $(sort $(wildcard tests/jobs/*_test.cc))
unit_programs   := $(patsubst tests/unit/%.cc,$(OUT)/tests/%,$(unit_sources))
job_programs    := $(patsubst tests/jobs/%.cc,$(OUT)/tests/%,$(job_sources))
flags_tests_emulators_utofu := -fvisibility=hidden
thread_programs := $(filter %_threads_test,$(unit_programs))
# What a sanitizer may look at: not jobs, whose tasks switch stacks, which it does not understand. Nor millions of hashes, which take
# long and touch no memory of ours.
plain_programs := $(filter-out %/uts_test %/perf_rounds_test %/perf_meaning_test %/perf_open_loop_test,$(unit_programs))
test_programs  := $(unit_programs) $(job_programs)

# Without assertions' knowledge of strings, GCC 12 thinks that one of gtest's may be unset.
flags_tests_unit := -Wno-maybe-uninitialized
flags_tests_jobs := $(flags_tests_unit)

# What all of them parse is parsed once. The three programs of the thread sanitizer would not repay it.
test_objects := $(call objects,$(unit_sources) $(job_sources))
# What programs make of the headers at each -O is for tests/apps/fork_programs.sh; here -O3 takes twice as long to compile.
# Those that compute for long are worth compiling.
computing_tests := $(call objects,tests/unit/uts_test.cc tests/unit/balancers_test.cc)
ifeq ($(MODE),release)
$(filter-out $(computing_tests),$(test_objects)): private CXXFLAGS += -Og
endif
ifneq ($(MODE),tsan)
$(call parsed_once,tests,tests/parsed_once.hpp,$(filter-out $(computing_tests),$(test_objects)),$(if $(filter release,$(MODE)),-Og) $(flags_tests_unit))
endif

$(OUT)/tests/uts_test: $(OUT)/obj/tests/unit/uts_test.o $(OUT)/obj/tools/bench/trees.o $(OUT)/obj/tools/bench/answers.o $(LIB) FORCE
	$(call link,-lgtest -lgtest_main -lfmt)
$(OUT)/tests/perf_rounds_test: $(OUT)/obj/tests/unit/perf_rounds_test.o $(OUT)/obj/tools/perf/rounds.o $(LIB) FORCE
	$(call link,-lgtest -lgtest_main -lfmt)
$(OUT)/tests/perf_meaning_test: $(OUT)/obj/tests/unit/perf_meaning_test.o $(call objects,$(addprefix tools/perf/,meaning.cc units.cc)) $(LIB) FORCE
	$(call link,-lgtest -lgtest_main -lfmt)
$(OUT)/tests/perf_open_loop_test: $(OUT)/obj/tests/unit/perf_open_loop_test.o $(OUT)/obj/tools/perf/open_loop.o $(LIB) FORCE
	$(call link,-lgtest -lgtest_main)
$(OUT)/tests/balancers_test: $(OUT)/obj/tests/unit/balancers_test.o $(OUT)/obj/tools/bench/virtual_cores.o $(LIB) FORCE
	$(call link,-lgtest -lgtest_main)
$(OUT)/tests/laplace_test: $(OUT)/obj/tests/unit/laplace_test.o $(call objects,$(fmm_kernels)) $(LIB) FORCE
	$(call link,-lgtest -lgtest_main)
$(OUT)/tests/fmm_tree_test: $(OUT)/obj/tests/unit/fmm_tree_test.o $(call objects,$(fmm_kernels) $(fmm_mpi_free)) $(LIB) FORCE
	$(call link,-lgtest -lgtest_main -fopenmp)
# The octree and what is computed on it, without the runtime.
$(OUT)/tests/octree_test: $(OUT)/obj/tests/unit/octree_test.o $(patsubst %.cc,$(OUT)/obj/%.elided.o,$(fmm_passes)) $(call objects,$(fmm_kernels)) $(LIB) FORCE
	$(call link,-lgtest -lgtest_main)
# What threads of one process share needs no transport: little is built again for the thread sanitizer.
shared_rooms      := base trace net deque
shared_files      := $(addprefix libcore/pool/,queue.cc thief.cc one_sided_thief.cc) libcore/pgas/letters.cc libcore/task/door.cc bootstrap/signed_code.cc
shared_by_threads := $(OUT)/lib/libshared-by-threads.a
$(shared_by_threads): $(call objects,$(filter arch/% alloc/% $(shared_rooms:%=libcore/%/%) transports/nap.cc transports/settings.cc,$(lib_units)) $(shared_files)) $(OUT)/obj/alloc/jemalloc.o FORCE
	$(call made,AR,rm -f $@ && $(CROSS)ar crs $@ $(filter %.o,$^))
$(thread_programs): $(OUT)/tests/%: $(OUT)/obj/tests/unit/%.o $(shared_by_threads) FORCE
	$(call made,LINK,$(CXX) $(LDFLAGS) -o $@ $(filter-out FORCE,$^) $(LIBS) -lgtest -lgtest_main)
$(filter-out $(thread_programs) %/uts_test %/balancers_test %/laplace_test %/fmm_tree_test %/octree_test %/perf_rounds_test %/perf_meaning_test %/perf_open_loop_test,$(unit_programs)): $(OUT)/tests/%: $(OUT)/obj/tests/unit/%.o $(LIB) FORCE
	$(call link,-lgtest -lgtest_main)
$(job_programs): $(OUT)/tests/%: $(OUT)/obj/tests/jobs/%.o $(LIB) FORCE
	$(call link,-lgtest -lgtest_main)

# Emulated devices' libraries, under the names that their vendors give them: tests load them in their place.
emulated_tofu := $(OUT)/tests/emulators/libtofucom.so
$(emulated_tofu): $(call objects,$(sort $(wildcard tests/emulators/utofu/*.cc))) FORCE
	$(call made,LINK,$(CXX) -shared $(LDFLAGS) -o $@ $(filter %.o,$^) -lpthread)
$(OUT)/tests/utofu_emulator_test: | $(emulated_tofu)
# A provider of libfabric that is strict about the rules of its manual. It is found in the folder that FI_PROVIDER_PATH names.
ifdef HAVE_ofi
strict_fabric := $(OUT)/tests/fabric/libstrict-fi.so
$(strict_fabric): $(call objects,$(sort $(wildcard tests/emulators/fabric/*.cc))) FORCE
	$(call made,LINK,$(CXX) -shared $(LDFLAGS) -o $@ $(filter %.o,$^) -lfabric -lpthread)
$(OUT)/tests/strict_fabric_test: | $(strict_fabric)
tests: $(strict_fabric)
endif

# Started by launchers.
launched_programs := $(OUT)/tests/fences $(OUT)/tests/moves
$(OUT)/tests/fences: $(OUT)/obj/tests/hosts/fences.o
$(OUT)/tests/moves: $(OUT)/obj/tests/launchers/moves.o
$(launched_programs): $(LIB) FORCE
	$(call link)
tests: $(launched_programs) $(OUT)/tests/perf/start

# tobi-conform with transports that break the contract, and their list.
plants := $(call objects,$(filter-out %/list.cc %/fabric.cc,$(sort $(wildcard tests/conform/plants/*.cc))))
$(OUT)/tests/conform/planted: $(filter-out %/tools/conform/fabric.o,$(call objects,$(conform_sources))) $(call objects,tests/conform/plants/fabric.cc) $(plants) $(LIB) FORCE
	$(call link)
$(OUT)/tests/conform/plants: $(call objects,tests/conform/plants/list.cc) $(plants) $(LIB) FORCE
	$(call link)
tests: $(OUT)/tests/conform/planted $(OUT)/tests/conform/plants

# Programs that tests/perf/run measures with.
perf_test_programs := $(OUT)/tests/perf/checkout $(OUT)/tests/perf/std_sort $(OUT)/tests/perf/start
$(perf_test_programs): $(OUT)/tests/perf/%: $(OUT)/obj/tests/perf/%.o $(LIB) FORCE
	$(call link)

# Loops of tests/perf/loops/compare, which have nothing of this project in them: a library each.
loop_libraries := memory $(if $(HAVE_ofi),ofi) $(if $(HAVE_verbs),verbs) $(if $(HAVE_ompi),openmpi) $(if $(HAVE_mpich),mpich)
loop_programs  := $(addprefix $(OUT)/tests/perf/loops/,$(loop_libraries))
loop_libs_ofi     := -lfabric
loop_libs_verbs   := -libverbs
loop_libs_openmpi := $(mpi_flags_openmpi) $(mpi_libs_openmpi)
loop_libs_mpich   := $(mpi_flags_mpich) $(mpi_libs_mpich)
loop_compile = $(CXX) $(CXXFLAGS) -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX -Wno-cast-function-type $< -o $@ $(loop_libs_$(@F))
$(filter-out %/openmpi %/mpich,$(loop_programs)): $(OUT)/tests/perf/loops/%: tests/perf/loops/%.cc tests/perf/loops/loop.hpp FORCE
	$(call made,CXX,$(loop_compile))
$(filter %/openmpi %/mpich,$(loop_programs)): tests/perf/loops/mpi.cc tests/perf/loops/loop.hpp FORCE
	$(call made,CXX,$(loop_compile))

.PHONY: perf-tests plain-tests thread-tests list-tests softroce-shell
perf-tests: $(perf_test_programs) $(loop_programs)
plain-tests: $(plain_programs)
thread-tests: $(thread_programs)
list-tests:
	@printf '%s\n' $(if $(filter asan debug,$(MODE)),$(plain_programs),$(if $(filter tsan,$(MODE)),$(thread_programs),$(test_programs)))

# A shell in the guest in which verbs programs run without RDMA hardware (see tests/softroce/guest).
softroce-shell:
	$(Q)tests/softroce/guest --shell
