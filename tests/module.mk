# The tests, by kind. Every file of these folders is one; `make check` runs all of them (see .ci/check).
unit_sources   := $(sort $(wildcard tests/unit/*_test.cc))
unit_names     := $(patsubst tests/unit/%.cc,%,$(unit_sources))
unit_programs  := $(addprefix $(OUT)/tests/,$(unit_names))
thread_programs := $(filter %_threads_test,$(unit_programs))
# What a sanitizer may look at: not the tests that switch stacks or fork whole jobs, which it does not understand.
# Nor millions of hashes, which take long and touch no memory of ours.
plain_programs := $(filter-out %/uts_test %/task_test %/bootstrap_test %_job_test,$(unit_programs))
test_programs  := $(unit_programs)

# Without assertions' knowledge of strings, GCC 12 thinks that one of gtest's may be unset.
flags_tests_unit := -Wno-maybe-uninitialized

$(OUT)/tests/uts_test: $(OUT)/obj/tests/unit/uts_test.o $(OUT)/obj/tools/bench/trees.o $(OUT)/obj/tools/bench/answers.o $(LIB)
	$(call link,-lgtest -lgtest_main -lfmt)
# What threads of one process share needs no transport: little is built again for the thread sanitizer.
shared_by_threads := $(OUT)/lib/libshared-by-threads.a
$(shared_by_threads): $(call objects,$(filter arch/% alloc/% libcore/base/% libcore/task/%,$(lib_sources))) $(OUT)/obj/alloc/jemalloc.o
	@mkdir -p $(@D)
	$(call say,AR,$@)
	$(Q)rm -f $@ && ar crs $@ $^
$(thread_programs): $(OUT)/tests/%: $(OUT)/obj/tests/unit/%.o $(shared_by_threads)
	$(Q)mkdir -p $(@D) && printf '  %-5s %s\n' LINK $@ && $(CXX) $(LDFLAGS) -o $@ $^ $(LIBS) -lgtest -lgtest_main
$(OUT)/tests/%: $(OUT)/obj/tests/unit/%.o $(LIB)
	$(call link,-lgtest -lgtest_main)

# Programs that tests/perf/run measures with.
perf_test_programs := $(OUT)/tests/perf/checkout $(OUT)/tests/perf/std_sort
$(perf_test_programs): $(OUT)/tests/perf/%: $(OUT)/obj/tests/perf/%.o $(LIB)
	$(call link)

.PHONY: plain-tests thread-tests list-tests softroce-shell
plain-tests: $(plain_programs)
thread-tests: $(thread_programs)
list-tests:
	@printf '%s\n' $(if $(filter asan,$(MODE)),$(plain_programs),$(if $(filter tsan,$(MODE)),$(thread_programs),$(unit_programs)))

# A shell in the guest in which verbs programs run without RDMA hardware (see tests/softroce/guest).
softroce-shell:
	$(Q)tests/softroce/guest --shell
