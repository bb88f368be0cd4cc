# SPDX-License-Identifier: Apache-2.0
# Each tool is a folder. Tools link the static library, so that they run from anywhere.
info_sources    := tools/info/main.cc tools/info/gather.cc tools/info/hosts.cc tools/info/transports.cc tools/info/child.cc tools/info/probe.cc tools/info/look.cc tools/info/measure.cc tools/info/print.cc
conform_sources := tools/conform/main.cc tools/conform/fabric.cc tools/conform/first.cc tools/conform/work.cc tools/conform/stage.cc tools/conform/data.cc tools/conform/atomics.cc tools/conform/errors.cc tools/conform/flow.cc tools/conform/claims.cc
fmm_kernels     := $(addprefix tools/bench/fmm/,laplace.cc translations.cc near_field.cc particles.cc)
fmm_passes      := $(addprefix tools/bench/fmm/,octree.cc upward.cc interact.cc)
bench_apps      := tools/bench/apps/fib.cc tools/bench/apps/btc.cc tools/bench/apps/uts.cc tools/bench/apps/nqueens.cc \
                   tools/bench/apps/loops.cc tools/bench/apps/lcs.cc tools/bench/apps/cilksort.cc tools/bench/apps/heap_frames.cc \
                   tools/bench/apps/uts_mem.cc tools/bench/apps/gups.cc tools/bench/apps/stream.cc tools/bench/apps/stencil.cc tools/bench/apps/histogram.cc tools/bench/apps/pagerank.cc \
                   $(fmm_passes) tools/bench/fmm/fmm.cc
fmm_mpi_free    := $(addprefix tools/bench/fmm/mpi/,tree.cc traversal.cc)
fmm_mpi_sources := $(fmm_mpi_free) $(addprefix tools/bench/fmm/mpi/,main.cc options.cc simulation.cc partition.cc essential.cc direct.cc)
bench_sources   := tools/bench/main.cc tools/bench/run.cc tools/bench/programs.cc tools/bench/report.cc tools/bench/arguments.cc tools/bench/trees.cc tools/bench/answers.cc tools/bench/model.cc tools/bench/measures.cc tools/bench/space.cc tools/bench/breakdown.cc tools/bench/ramp.cc tools/bench/lb_synthetic.cc tools/bench/virtual_cores.cc tools/bench/progress.cc tools/bench/peers.cc \
                   tools/bench/memory_arguments.cc tools/bench/ramp_arguments.cc tools/bench/lb_synthetic_arguments.cc tools/bench/collection_arguments.cc \
                   tools/bench/collection_runs.cc tools/bench/collection_report.cc tools/bench/collection_schemes.cc tools/bench/collection_log.cc \
                   tools/bench/hf/hf.cc tools/bench/hf/molecule.cc tools/bench/hf/integrals.cc tools/bench/hf/scf.cc tools/bench/hf/reference.cc \
                   $(fmm_kernels) \
                   tools/bench/tce/tce.cc tools/bench/tce/tensor.cc tools/bench/tce/reference.cc tools/bench/tce/blas.cc \
                   tools/bench/peers/openmp.cc $(if $(HAVE_tbb),tools/bench/peers/onetbb.cc) $(bench_apps)
perf_sources    := tools/perf/main.cc tools/perf/arguments.cc tools/perf/work.cc tools/perf/control.cc tools/perf/pairs.cc tools/perf/rounds.cc tools/perf/histogram.cc tools/perf/initiator.cc tools/perf/measure.cc tools/perf/agents.cc tools/perf/parts.cc tools/perf/sheet_parts.cc tools/perf/runtime_ops.cc tools/perf/report.cc tools/perf/plot.cc tools/perf/items.cc tools/perf/set_up.cc tools/perf/units.cc tools/perf/meaning.cc tools/perf/open_loop.cc tools/perf/sheet.cc tools/perf/sheet_page.cc tools/plot/svg.cc tools/plot/chart.cc tools/plot/lines.cc tools/plot/page.cc \
                   tools/perf/transport_lane.cc tools/perf/raw.cc $(raw_sources)
report_sources  := tools/report/main.cc tools/report/trace.cc tools/report/activity.cc tools/report/where.cc tools/report/where_shown.cc tools/report/limit.cc tools/report/figures.cc tools/report/results.cc tools/report/lookup.cc tools/report/curves.cc tools/report/papers.cc tools/report/taken.cc tools/report/global.cc tools/report/ramp.cc tools/report/origins.cc tools/report/verdict.cc tools/report/work_span.cc tools/report/work_span_shown.cc tools/report/print.cc tools/report/page.cc tools/plot/svg.cc tools/plot/chart.cc tools/plot/lines.cc tools/plot/page.cc
example_sources := $(addprefix tools/examples/,collection.cc fib.cc gradients.cc multigrid.cc neighbours.cc particles.cc pi.cc queens.cc sort.cc stencil.cc sweep.cc tour.cc triangles.cc wavefront.cc words.cc)

flags_tools_bench       := $(if $(HAVE_tbb),-DTOBI_HAVE_TBB)
flags_tools_bench_peers := -fopenmp
flags_tools_bench_hf    := -isystem $(shell pkg-config --variable=prefix eigen3 2>/dev/null || echo /usr)/include/eigen3
# What tobi-bench fmm is compared with is a program of one MPI library, and no tool: it is not installed.
fmm_mpi_library := $(if $(HAVE_ompi),openmpi,$(if $(HAVE_mpich),mpich))
flags_tools_bench_fmm_mpi := -fopenmp -DOMPI_SKIP_MPICXX -DMPICH_SKIP_MPICXX $(mpi_flags_$(fmm_mpi_library))
# Units that include the same long headers (CLI11, nlohmann's) are compiled as one: reading these headers is most of their time.
# What reads arguments and prints runs once, and its templates take long to compile at -O3; what measures stays.
apart  := tools/bench/virtual_cores.cc tools/bench/trees.cc tools/bench/answers.cc tools/bench/model.cc tools/bench/progress.cc tools/bench/peers/% tools/bench/apps/% tools/bench/hf/% tools/bench/tce/% tools/bench/fmm/% \
          tools/bench/collection_schemes.cc tools/bench/collection_log.cc tools/plot/% \
          tools/perf/raw.cc tools/perf/rounds.cc tools/perf/units.cc tools/perf/meaning.cc tools/perf/open_loop.cc $(raw_sources) tools/conform/%
timers := tools/bench/run.cc tools/bench/programs.cc tools/bench/measures.cc tools/bench/space.cc tools/bench/breakdown.cc tools/bench/ramp.cc \
          tools/perf/work.cc tools/perf/initiator.cc tools/perf/measure.cc tools/perf/runtime_ops.cc tools/perf/set_up.cc tools/perf/transport_lane.cc
joined = $(OUT)/obj/tools/$(1).joined.o $(call objects,$(filter $(apart),$($(1)_sources)))
info.joined          := $(info_sources)
report.joined        := $(filter-out $(apart),$(report_sources))
bench.joined         := $(filter-out $(apart) $(timers),$(bench_sources))
bench_timers.joined  := $(filter $(timers),$(bench_sources))
perf.joined          := $(filter-out $(apart) $(timers),$(perf_sources))
perf_timers.joined   := $(filter $(timers),$(perf_sources))
.PRECIOUS: $(OUT)/obj/tools/%.joined.cc
$(OUT)/obj/tools/%.joined.cc: FORCE
	$(call made,JOIN,printf '$(hash)include "%s"\n' $($*.joined) > $@)
joined_objects := $(patsubst %,$(OUT)/obj/tools/%.joined.o,report info bench perf bench_timers perf_timers)
$(joined_objects): private CXXFLAGS += -Wno-shadow -Wshadow=local  # a name of one file may be a local's in another
talkers := $(filter-out %_timers.joined.o,$(joined_objects)) $(call objects,tools/conform/main.cc)
$(talkers) $(call objects,$(addprefix tools/bench/fmm/mpi/,main.cc options.cc) tools/bench/answers.cc tools/plot/svg.cc tools/plot/chart.cc tools/plot/lines.cc tools/plot/page.cc): private CXXFLAGS += -O1
# Else a loop with a square root, or with a condition, is no loop of vectors.
$(call objects,$(fmm_kernels)): private CXXFLAGS += -fno-math-errno -fno-trapping-math
$(call parsed_once,talkers,tools/parsed_once.hpp,$(talkers),-O1)
tool_objects := $(call objects,$(filter-out tools/conform/main.cc $(fmm_kernels) tools/bench/peers/% tools/bench/answers.cc tools/plot/svg.cc tools/plot/chart.cc tools/plot/lines.cc tools/plot/page.cc,$(filter $(apart),$(foreach t,conform bench perf,$($(t)_sources)))))
$(call parsed_once,tools,tools/make/parsed_once.hpp,$(sort $(tool_objects) $(patsubst %.cc,$(OUT)/obj/%.elided.o,$(bench_apps)) $(call objects,$(example_sources))))
$(patsubst %,$(OUT)/obj/tools/%.joined.o,bench bench_timers): private CXXFLAGS += $(flags_tools_bench)

tool_programs    := $(OUT)/bin/tobi-info $(OUT)/bin/tobi-conform $(OUT)/bin/tobi-bench $(OUT)/bin/tobi-perf $(OUT)/bin/tobi-report
example_programs := $(patsubst tools/examples/%.cc,$(OUT)/examples/%,$(example_sources))

link = $(call made,LINK,$(CXX) $(LDFLAGS) -o $@ $(filter %.o,$^) $(LIB) $(LIBS) $(1))
$(OUT)/bin/tobi-info: $(call joined,info) $(LIB) FORCE
	$(call link,-lfmt)
$(OUT)/bin/tobi-conform: $(call objects,$(conform_sources)) $(LIB) FORCE
	$(call link)
$(OUT)/bin/tobi-bench: $(call joined,bench) $(OUT)/obj/tools/bench_timers.joined.o $(patsubst %.cc,$(OUT)/obj/%.elided.o,$(bench_apps)) $(LIB) FORCE
	$(call link,-lfmt -fopenmp $(if $(HAVE_tbb),-ltbb))
$(OUT)/bin/tobi-perf: $(call joined,perf) $(OUT)/obj/tools/perf_timers.joined.o $(LIB) FORCE
	$(call link,-lfmt $(raw_libs))
$(OUT)/bin/tobi-report: $(call joined,report) $(LIB) FORCE
	$(call link,-lfmt)
fmm_mpi_program := $(if $(fmm_mpi_library),$(OUT)/bin/fmm-mpi)
$(OUT)/bin/fmm-mpi: $(call objects,$(fmm_mpi_sources) $(fmm_kernels)) FORCE
	$(call made,LINK,$(CXX) $(LDFLAGS) -o $@ $(filter %.o,$^) -lfmt -fopenmp $(mpi_libs_$(fmm_mpi_library)))
$(OUT)/examples/%: $(OUT)/obj/tools/examples/%.o $(LIB) FORCE
	$(call link)
