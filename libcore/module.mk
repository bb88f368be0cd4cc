lib_sources += libcore/base/log.cc libcore/base/settings.cc libcore/base/mpi_plugin.cc \
               libcore/task/entry.cc libcore/task/fabric.cc libcore/task/join.cc libcore/task/steal_word.cc \
               libcore/task/suspend.cc libcore/task/the.cc libcore/task/worker.cc \
               libcore/pgas/cache.cc libcore/pgas/entry.cc libcore/pgas/homes.cc libcore/pgas/memory.cc libcore/pgas/remote.cc libcore/pgas/view.cc \
               libcore/job/global.cc libcore/job/job.cc libcore/job/limits.cc libcore/job/runtime.cc
