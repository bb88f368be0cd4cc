# Each tool is a folder. Tools link the static library, so that they run from anywhere.
info_sources    := tools/info/main.cc tools/info/gather.cc tools/info/transports.cc tools/info/child.cc tools/info/probe.cc tools/info/look.cc tools/info/measure.cc tools/info/print.cc
conform_sources := tools/conform/main.cc tests/conformance/stage.cc tests/conformance/data.cc tests/conformance/atomics.cc tests/conformance/errors.cc tests/conformance/flow.cc
bench_apps      := tools/bench/apps/fib.cc tools/bench/apps/btc.cc tools/bench/apps/uts.cc tools/bench/apps/nqueens.cc \
                   tools/bench/apps/loops.cc tools/bench/apps/lcs.cc tools/bench/apps/cilksort.cc tools/bench/apps/heap_frames.cc \
                   tools/bench/apps/uts_mem.cc tools/bench/apps/gups.cc tools/bench/apps/stream.cc tools/bench/apps/histogram.cc tools/bench/apps/pagerank.cc
bench_sources   := tools/bench/main.cc tools/bench/run.cc tools/bench/arguments.cc tools/bench/trees.cc tools/bench/answers.cc tools/bench/model.cc tools/bench/measures.cc tools/bench/space.cc tools/bench/breakdown.cc tools/bench/ramp.cc tools/bench/progress.cc tools/bench/peers.cc \
                   tools/bench/memory_arguments.cc tools/bench/ramp_arguments.cc tools/bench/memory_run.cc \
                   tools/bench/peers/openmp.cc $(if $(HAVE_tbb),tools/bench/peers/onetbb.cc) $(bench_apps)
perf_sources    := tools/perf/main.cc tools/perf/arguments.cc tools/perf/work.cc tools/perf/measure.cc tools/perf/runtime_ops.cc tools/perf/report.cc tools/perf/plot.cc tools/plot/svg.cc \
                   tools/perf/transport_lane.cc tools/perf/raw.cc tools/perf/raw_shm.cc $(if $(HAVE_ofi),tools/perf/raw_ofi.cc) $(if $(HAVE_verbs),tools/perf/raw_verbs.cc)
report_sources  := tools/report/main.cc tools/report/trace.cc tools/report/activity.cc tools/report/figures.cc tools/report/results.cc tools/report/papers.cc tools/report/global.cc tools/report/ramp.cc tools/report/print.cc tools/report/page.cc tools/plot/svg.cc
example_sources := tools/examples/fib.cc tools/examples/pi.cc tools/examples/wavefront.cc

flags_tools_bench       := $(if $(HAVE_tbb),-DTOBI_HAVE_TBB)
flags_tools_perf        := $(if $(HAVE_ofi),-DTOBI_HAVE_OFI) $(if $(HAVE_verbs),-DTOBI_HAVE_VERBS)
flags_tools_bench_peers := -fopenmp
# Line tables say where a tool or a test was; the values of its variables cost a third of the time to compile.
ifeq ($(MODE),release)
$(OUT)/obj/tools/%.o $(OUT)/obj/tests/%.o: CXXFLAGS += -g1
endif
# CLI11's templates take twice as long to compile at -O3, and run once.
$(OUT)/obj/tools/%/arguments.o: CXXFLAGS += -O1

tool_programs    := $(OUT)/bin/tobi-info $(OUT)/bin/tobi-conform $(OUT)/bin/tobi-bench $(OUT)/bin/tobi-perf $(OUT)/bin/tobi-report
example_programs := $(patsubst tools/examples/%.cc,$(OUT)/examples/%,$(example_sources))

link = $(Q)mkdir -p $(@D) && printf '  %-5s %s\n' LINK $@ && $(CXX) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIB) $(LIBS) $(1)
$(OUT)/bin/tobi-info: $(call objects,$(info_sources)) $(LIB)
	$(call link,-lfmt)
$(OUT)/bin/tobi-conform: $(call objects,$(conform_sources)) $(LIB)
	$(call link)
$(OUT)/bin/tobi-bench: $(call objects,$(bench_sources)) $(patsubst %.cc,$(OUT)/obj/%.elided.o,$(bench_apps)) $(LIB)
	$(call link,-lfmt -fopenmp $(if $(HAVE_tbb),-ltbb))
$(OUT)/bin/tobi-perf: $(call objects,$(perf_sources)) $(LIB)
	$(call link,-lfmt $(if $(HAVE_ofi),-lfabric) $(if $(HAVE_verbs),-libverbs))
$(OUT)/bin/tobi-report: $(call objects,$(report_sources)) $(LIB)
	$(call link,-lfmt)
# The raw loop of MPI, once for each library, beside the plugins of the library.
perf_plugins := $(patsubst $(OUT)/lib/libtobi-mpi-%,$(OUT)/lib/libtobi-perf-mpi-%,$(mpi_plugins))
$(OUT)/lib/libtobi-perf-mpi-%.so: tools/perf/raw_mpi.cc
	$(call mpi_compile) $< $(mpi_libs_$*)
$(OUT)/examples/%: $(OUT)/obj/tools/examples/%.o $(LIB)
	$(call link)
