lib_sources += libcore/base/door.cc libcore/base/log.cc libcore/base/settings.cc libcore/base/mpi_plugin.cc \
               libcore/task/attendant.cc libcore/task/entry.cc libcore/task/fabric.cc libcore/task/finishes.cc \
               libcore/task/futures.cc libcore/task/incoming_frees.cc libcore/task/incoming_image.cc \
               libcore/task/join.cc libcore/task/ready.cc libcore/task/sched_child.cc \
               libcore/task/sched_child_full.cc libcore/task/sched_child_rtc.cc libcore/task/sched_continuation.cc \
               libcore/task/sched_greedy.cc libcore/task/sched_stalling.cc libcore/task/scheduler.cc \
               libcore/task/standstill.cc libcore/task/steal_word.cc libcore/task/steal_word_thief.cc libcore/task/suspend.cc \
               libcore/task/task_stacks.cc libcore/task/the.cc libcore/task/trace.cc libcore/task/worker.cc \
               libcore/pgas/cache.cc libcore/pgas/entry.cc libcore/pgas/homes.cc libcore/pgas/memory.cc libcore/pgas/remote.cc libcore/pgas/view.cc libcore/pgas/watch.cc \
               libcore/job/global.cc libcore/job/job.cc libcore/job/limits.cc libcore/job/runtime.cc libcore/job/server.cc \
               libcore/job/trace.cc libcore/job/trace_file.cc libcore/job/clock_fit.cc
