# SPDX-License-Identifier: Apache-2.0
# The rooms of the runtime (libcore/README.md). What is optional is below.
libcore_rooms := base trace net deque task sched pgas pool job
lib_sources   += $(filter-out libcore/job/dwarf.cc,$(wildcard $(libcore_rooms:%=libcore/%/*.cc)))

# Names in reports: optional when Tobiuo is built, and loaded when a report is made.
flags_libcore_job := $(if $(HAVE_dw),-DTOBI_HAVE_DW)
lib_sources += $(if $(HAVE_dw),libcore/job/dwarf.cc)
