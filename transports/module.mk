lib_sources += transports/select.cc transports/self/setup.cc transports/self/datapath.cc \
               transports/shm/setup.cc transports/shm/datapath.cc transports/peer_memory.cc \
               transports/sim/setup.cc transports/sim/datapath.cc transports/sim/nic.cc \
               transports/wrap/wrap.cc transports/wrap/stats.cc transports/wrap/trace.cc transports/wrap/fault.cc
