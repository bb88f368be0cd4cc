# SPDX-License-Identifier: Apache-2.0
lib_sources += bootstrap/mpi/loader.cc bootstrap/start.cc bootstrap/launched.cc bootstrap/clients.cc bootstrap/cards.cc bootstrap/host_names.cc bootstrap/layout.cc bootstrap/fixed_addresses.cc bootstrap/came_with_program.cc bootstrap/around.cc bootstrap/canary.cc \
               bootstrap/other_threads.cc bootstrap/signed_code.cc bootstrap/neighbours.cc bootstrap/rounds.cc bootstrap/fork/fork.cc bootstrap/fork/values.cc bootstrap/fork/death.cc bootstrap/fork/lost.cc bootstrap/fork/ended.cc \
               bootstrap/tcp/sockets.cc bootstrap/tcp/messages.cc bootstrap/tcp/meeting.cc bootstrap/tcp/door.cc bootstrap/ring/ring.cc \
               $(if $(HAVE_pmix),bootstrap/pmix/pmix.cc bootstrap/pmix/library.cc)
pmix_flags           := $(if $(HAVE_pmix),-DTOBI_HAVE_PMIX $(patsubst -I%,-isystem%,$(shell pkg-config --cflags-only-I pmix)))
flags_bootstrap      := $(pmix_flags)
flags_bootstrap_pmix := $(pmix_flags)
