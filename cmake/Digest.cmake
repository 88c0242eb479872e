# Writes the header with a digest of the SDK: a hash over the headers and message definitions that INPUTS, a list in
# ROOT, names for LAYERS, in its order.
file(STRINGS ${INPUTS} lines REGEX "^(${LAYERS}) ")
set(all "")
foreach(line ${lines})
  string(REGEX REPLACE "^[a-z]+ " "" name ${line})
  file(SHA256 ${ROOT}/${name} hash)
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 digest "${all}")
string(SUBSTRING ${digest} 0 ${LENGTH} digest)
file(WRITE ${OUT} "#pragma once\n#define ${MACRO} \"${digest}\"\n")
