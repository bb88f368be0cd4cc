lib_sources += libcore/base/log.cc libcore/base/settings.cc libcore/base/mpi_plugin.cc \
               libcore/task/entry.cc libcore/task/fabric.cc libcore/task/finishes.cc libcore/task/futures.cc \
               libcore/task/join.cc libcore/task/ready.cc libcore/task/standstill.cc libcore/task/steal_word.cc \
               libcore/task/suspend.cc libcore/task/the.cc libcore/task/trace.cc libcore/task/worker.cc \
               libcore/job/job.cc libcore/job/limits.cc libcore/job/runtime.cc libcore/job/server.cc \
               libcore/job/trace.cc libcore/job/trace_file.cc libcore/job/clock_fit.cc
