# Writes the header with the digest of what is simulated and of what simulates it.
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/kernel/raft/*.h ${ROOT}/kernel/raft/*.cc ${ROOT}/sdk/raft/*
     ${ROOT}/sdk/include/drover/raft/*.h ${ROOT}/tests/simulation/*.h ${ROOT}/tests/simulation/*.cc)
list(SORT files)
set(all "")
foreach(name ${files})
  file(SHA256 ${ROOT}/${name} hash)
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 digest "${all}")
string(SUBSTRING ${digest} 0 16 digest)
file(WRITE ${OUT} "#pragma once\n#define DROVER_SIMULATION_SOURCE \"${digest}\"\n")
