# How every target of this tree is compiled. Flags sit on one interface library; the only global settings are the
# language standard, visibility and where products go.
#
#   drover_library(NAME SOURCES … [LIBRARIES …] [PRIVATE_LIBRARIES …])   a static library of one room
#   drover_test(NAME SOURCES … [LIBRARIES …] [LABELS …] [TIMEOUT …])      a GoogleTest program, registered with CTest
#   drover_bench(NAME SOURCES … [LIBRARIES …])                            a benchmark program, built by ./dev bench

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/archive)
set(DROVER_PLUGIN_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib/drover/plugins)

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Dev CACHE STRING "Dev, Release or Debug" FORCE)
endif()
set(CMAKE_CXX_FLAGS_DEV "-O1 -g1")
set(CMAKE_C_FLAGS_DEV "-O1 -g1")
# Assertions stay in release builds: DROVER_CHECK guards state. That a function runs on its thread is for tests to check.
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1 -DDROVER_NO_THREAD_CHECKS")
set(DROVER_SANITIZE "" CACHE STRING "Sanitizers to build with, for example address,undefined")
option(DROVER_WERROR "Treat warnings as errors" OFF)

# Checkouts share one cache: paths are relative to the tree, and times of headers do not count.
find_program(CCACHE_PROGRAM ccache)
if(CCACHE_PROGRAM)
  set(CMAKE_CXX_COMPILER_LAUNCHER env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 CCACHE_DEPEND=1 CCACHE_PCH_EXTSUM=1
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE_PROGRAM})
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
find_program(MOLD_PROGRAM mold)
if(MOLD_PROGRAM)
  add_link_options(-fuse-ld=mold)
endif()
if(NOT DROVER_FUZZ)  # there the program brings the runtime of the sanitizers for the libraries
  add_link_options(-Wl,-z,defs)
endif()

# Clang 14 has coroutines, but not the macro by which the header <coroutine> of GCC's library asks for them.
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 15)
  add_compile_definitions($<$<COMPILE_LANGUAGE:CXX>:__cpp_impl_coroutine=201902L>)
endif()

# How many times longer than usual tests wait and may take: sanitized programs are slower.
set(DROVER_TEST_PATIENCE 1)
if(DROVER_SANITIZE)
  set(DROVER_TEST_PATIENCE 5)
  add_compile_options(-fsanitize=${DROVER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${DROVER_SANITIZE})
  if(DROVER_SANITIZE STREQUAL "thread")
    # protobuf's headers lay their map fields out differently when they see the compiler's own macro, and the system's
    # library was built without it. Ours says the same to our sources; the standard library's is named beside it.
    add_compile_options(-U__SANITIZE_THREAD__ -DDROVER_THREAD_SANITIZER -D_GLIBCXX_TSAN=1)
  endif()
endif()

add_library(drover_warnings INTERFACE)
target_compile_options(drover_warnings INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion $<$<NOT:$<BOOL:${DROVER_COLD}>>:-Wshadow> -Wnon-virtual-dtor -Woverloaded-virtual -Wimplicit-fallthrough
  -Wno-missing-field-initializers  # designated initialisers leave out what keeps its default
  # From a precompiled header, GCC 12 no longer knows that a header is the system's, and warns of strings in it for nothing.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-array-bounds;-Wno-restrict;-Wno-stringop-overflow;-Wno-stringop-overread>
  $<$<BOOL:${DROVER_WERROR}>:-Werror>)

function(drover_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES;PRIVATE_LIBRARIES" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${ARG_LIBRARIES} PRIVATE drover_warnings ${ARG_PRIVATE_LIBRARIES})
  drover_fast_build(${name} library)
endfunction()

function(drover_test_timeout name seconds)
  math(EXPR seconds "${seconds} * ${DROVER_TEST_PATIENCE}")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${seconds})
endfunction()

function(drover_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;LIBRARIES;LABELS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE drover_warnings ${ARG_LIBRARIES} GTest::gtest GTest::gtest_main Threads::Threads)
  drover_fast_build(${name} test ALONE)
  add_test(NAME ${name} COMMAND ${name})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  drover_test_timeout(${name} ${ARG_TIMEOUT})
  set_tests_properties(${name} PROPERTIES LABELS "${ARG_LABELS}")
endfunction()

add_custom_target(benchmarks COMMENT "All benchmark programs")

function(drover_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bench)
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE drover_warnings ${ARG_LIBRARIES} Threads::Threads)
  add_dependencies(benchmarks ${name})
endfunction()
