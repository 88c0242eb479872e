# Two ways to read fewer headers. drover_fast_build(NAME KIND [ALONE]) gives both to a target; with
# ALONE, its sources stay apart because many names in them clash. KIND says how it is compiled:
#
#   library   position-independent code, hidden symbols: the kernel, plugins and their objects
#   exported  the same with visible symbols: the SDK
#   test      a test program: the same headers and GoogleTest
#
# Precompiled headers: those that most sources read, compiled once for each kind. Sources still include what they use: Clang's
# builds have none, so `./dev tidy` finds a missing include. <filesystem> and <iomanip> are left out: with std::quoted in sight,
# an unqualified quoted(text) means that one.
#
# DROVER_COLD: several sources of a target are compiled as one, generated ones without optimisation. A first build takes half
# the time; a later edit takes longer.
# `./dev` sets it for a new build folder while the compiler cache is empty, and in CI; the folder keeps it.

option(DROVER_PRECOMPILED "Compile the headers that most sources read once" ON)
option(DROVER_COLD "Compile several sources of a target as one" OFF)
if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(DROVER_PRECOMPILED OFF)
endif()

set(CMAKE_PCH_WARN_INVALID OFF)  # targets with gRPC are compiled with -pthread, and read the headers themselves

function(drover_fast_build name kind)
  if(DROVER_PRECOMPILED)
    target_precompile_headers(${name} REUSE_FROM drover_precompiled_${kind})
  endif()
  if(DROVER_COLD AND NOT "ALONE" IN_LIST ARGN)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 10 UNITY_BUILD_UNIQUE_ID DROVER_UNITY)
  endif()
endfunction()

# Sources that are compiled alone: others take their object without the rest of the target, or their names clash.
function(drover_compile_alone)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endfunction()

if(NOT DROVER_PRECOMPILED)
  return()
endif()

set(headers
  <algorithm> <array> <atomic> <charconv> <chrono> <condition_variable> <cstdint> <deque> <functional> <map> <memory> <mutex>
  <optional> <set> <span> <stop_token> <string> <string_view> <thread> <utility> <vector>
  <google/protobuf/extension_set.h> <google/protobuf/generated_enum_reflection.h> <google/protobuf/generated_message_util.h>
  <google/protobuf/map.h> <google/protobuf/map_entry.h> <google/protobuf/map_field_inl.h> <google/protobuf/message.h>
  <google/protobuf/unknown_field_set.h>)
file(CONFIGURE OUTPUT precompiled.cc CONTENT "")
list(REMOVE_ITEM CMAKE_CXX_COMPILER_LAUNCHER CCACHE_DEPEND=1)  # by its dependencies, a precompiled header is not found again
foreach(kind library exported test)
  add_library(drover_precompiled_${kind} OBJECT EXCLUDE_FROM_ALL ${CMAKE_CURRENT_BINARY_DIR}/precompiled.cc)
  target_link_libraries(drover_precompiled_${kind} PRIVATE drover_warnings protobuf::libprotobuf)
  target_precompile_headers(drover_precompiled_${kind} PRIVATE ${headers})
  # The compiler makes other bytes each time. ccache takes this in their place, so that checkouts share objects; changes of the
  # headers themselves are noticed by the lists of dependencies.
  file(CONFIGURE OUTPUT CMakeFiles/drover_precompiled_${kind}.dir/cmake_pch.hxx.gch.sum CONTENT
    "${kind} ${headers} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE} ${DROVER_SANITIZE}\n")
endforeach()
set_target_properties(drover_precompiled_exported PROPERTIES CXX_VISIBILITY_PRESET default VISIBILITY_INLINES_HIDDEN OFF)
target_link_libraries(drover_precompiled_test PRIVATE GTest::gtest)
target_precompile_headers(drover_precompiled_test PRIVATE <gtest/gtest.h>)
set_target_properties(drover_precompiled_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(drover_precompiled_test PRIVATE -fPIE)
