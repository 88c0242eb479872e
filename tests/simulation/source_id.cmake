# Writes source_id(): the digest of what is simulated and of what simulates it.
file(GLOB_RECURSE files RELATIVE ${ROOT} ${ROOT}/kernel/raft/*.h ${ROOT}/kernel/raft/*.cc ${ROOT}/storage/*.h
     ${ROOT}/storage/*.cc ${ROOT}/tests/simulation/*.h ${ROOT}/tests/simulation/*.cc)
list(SORT files)
set(all "")
foreach(name ${files})
  file(SHA256 ${ROOT}/${name} hash)
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 digest "${all}")
string(SUBSTRING ${digest} 0 16 digest)
file(WRITE ${OUT} "namespace drover::simulation {\nconst char* source_id() { return \"${digest}\"; }\n}  // namespace drover::simulation\n")
