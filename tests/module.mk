conformance_sources :=
test_programs :=
