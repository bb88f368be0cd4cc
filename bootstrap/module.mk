lib_sources += bootstrap/fork/fork.cc bootstrap/fork/death.cc
