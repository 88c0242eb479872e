# drover_messages(…) and drover_add_plugin(…): see below; the same file ships with the SDK.
#
#   drover_add_plugin(NAME [IN_PROCESS] [EXECUTABLE] [FOLDER PATH] [LAYERS …] SOURCES … [PROTOS …] [LIBRARIES …])
#
# makes from the same objects
#   IN_PROCESS   NAME.so (one exported symbol, linked with -z nodelete) beside a copy of plugin.json in the plugin folder.
#                The tier is what plugin.json says: "exact" links this SDK's libraries; "stable" carries all that it uses
#                of the SDK, of protobuf and of the C++ library inside, hidden, and needs nothing but the C library
#   EXECUTABLE   NAME-plugin, a task driver or device plugin as a program of its own (drover/serve.h), in lib/drover/drivers
# In another project both lie in its build folder. With FOLDER both lie there: they are an example or belong to a test,
# are not installed and not among the programs.
#
# LAYERS says what the plugin uses of the SDK: `module`, which all do, `api` (messages of the public API), `driver` (bases
# of task drivers). It is linked with those only, and an edit of another layer does not make it one of another build.
# Without LAYERS a plugin may use all.
#
#   drover_add_conformance_test(NAME [TASKS FILE] [CONFIG FILE])
#
# has CTest run the conformance kit (`drover plugin test`) over the forms of a plugin that was added before. For storage
# plugins, which speak CSI, drover_csi_messages(…) and drover_add_csi_test(…) below.
#
# The latter finds the SDK's libraries beside it and, when it is copied elsewhere, where they were built or installed.
# A plugin's own .proto files are compiled into that plugin and nowhere else: the same file in two plugins would abort
# the process when the second one loads.

set(DROVER_PROTO_ROOT ${CMAKE_CURRENT_LIST_DIR}/../sdk/proto)
if(NOT EXISTS ${DROVER_PROTO_ROOT})
  set(DROVER_PROTO_ROOT ${CMAKE_CURRENT_LIST_DIR}/../../../share/drover/proto)  # installed
endif()
set(DROVER_PLUGIN_MAP ${CMAKE_CURRENT_LIST_DIR}/plugin.map)
set(DROVER_STABLE_MAP ${CMAKE_CURRENT_LIST_DIR}/stable.map)

# Generates C++ from .proto files (paths relative to ROOT) into GENERATED_DIR; sets OUT_SOURCES.
function(drover_generate_messages out_sources root)
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${generated})
  set(sources)
  set(together ${ARGN})  # they may import one another
  list(TRANSFORM together PREPEND ${root}/)
  foreach(proto ${ARGN})
    string(REGEX REPLACE "\\.proto$" "" stem ${proto})
    add_custom_command(
      OUTPUT ${generated}/${stem}.pb.cc ${generated}/${stem}.pb.h
      COMMAND protobuf::protoc --cpp_out=${generated} -I ${root} -I ${DROVER_PROTO_ROOT} ${root}/${proto}
      DEPENDS ${together}
      COMMENT "Messages of ${proto}")
    list(APPEND sources ${generated}/${stem}.pb.cc)
  endforeach()
  # Generated code: no warnings, little optimisation (none in a first build that is no release), no debug information; it is
  # compiled once and rarely read.
  set(compiled ${sources})
  set(level -O1)
  if(DROVER_COLD)
    if(NOT CMAKE_BUILD_TYPE STREQUAL "Release")
      set(level -O0)
    endif()
    drover_join_messages(compiled ${generated} ${sources})
  endif()
  set_source_files_properties(${compiled} PROPERTIES COMPILE_OPTIONS "-w;${level};-g0" SKIP_PRECOMPILE_HEADERS ON)
  # `generated` makes all of it and compiles nothing, for tools that read the sources.
  if(NOT TARGET generated)
    add_custom_target(generated)
  endif()
  string(MAKE_C_IDENTIFIER "generated_in_${CMAKE_CURRENT_BINARY_DIR}" here)
  add_custom_target(${here} DEPENDS ${sources})
  add_dependencies(generated ${here})
  list(APPEND sources ${compiled})
  list(REMOVE_DUPLICATES sources)
  set(${out_sources} ${sources} PARENT_SCOPE)
endfunction()

# Several generated sources as one: each reads the same headers. Names that every one of them has for itself are told apart.
function(drover_join_messages out folder)
  set(joined)
  set(text)
  set(count 0)
  foreach(source ${ARGN})
    math(EXPR count "${count} + 1")
    string(APPEND text "#define schemas schemas_${count}\n#define file_default_instances file_default_instances_${count}\n"
           "#include \"${source}\"\n#undef schemas\n#undef file_default_instances\n")
    math(EXPR left "${count} % 6")
    list(LENGTH ARGN all)
    if(left EQUAL 0 OR count EQUAL all)
      file(CONFIGURE OUTPUT ${folder}/joined_${count}.cc CONTENT "#include <google/protobuf/generated_message_reflection.h>\n${text}" @ONLY)
      list(APPEND joined ${folder}/joined_${count}.cc)
      set(text)
    endif()
  endforeach()
  set_source_files_properties(${ARGN} PROPERTIES HEADER_FILE_ONLY ON)  # made with the target, and read by these
  set_source_files_properties(${joined} PROPERTIES OBJECT_DEPENDS "${ARGN}")
  set(${out} ${joined} PARENT_SCOPE)
endfunction()

# The tier that a manifest says; the build ends where it is none that can be made of sources.
function(drover_read_tier out_tier name manifest)
  if(NOT EXISTS ${manifest})
    message(FATAL_ERROR "drover_add_plugin(${name} IN_PROCESS): there is no manifest ${manifest}")
  endif()
  file(READ ${manifest} text)
  foreach(key tier kind)
    string(JSON ${key} ERROR_VARIABLE problem GET "${text}" ${key})
    if(problem)
      message(FATAL_ERROR "drover_add_plugin(${name}): ${manifest}: \"${key}\": ${problem}")
    endif()
  endforeach()
  if(NOT tier MATCHES "^(stable|exact)$")
    message(FATAL_ERROR "drover_add_plugin(${name}): ${manifest}: \"tier\" is \"${tier}\"; it must be \"stable\" or \"exact\"")
  endif()
  if(tier STREQUAL "stable" AND kind STREQUAL "module")
    message(FATAL_ERROR "drover_add_plugin(${name}): ${manifest}: a plugin of kind \"module\" is C++ of one build: its \"tier\" is \"exact\"")
  endif()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${manifest})
  set(${out_tier} ${tier} PARENT_SCOPE)
endfunction()

# NAME_plugin of the exact tier: links the shared libraries of this SDK.
function(drover_link_exact name)
  add_library(${name}_plugin MODULE)
  target_link_libraries(${name}_plugin PRIVATE ${name}_objects)
  target_link_options(${name}_plugin PRIVATE -Wl,--version-script=${DROVER_PLUGIN_MAP})
  set_target_properties(${name}_plugin PROPERTIES
    LINK_DEPENDS ${DROVER_PLUGIN_MAP} BUILD_RPATH "$ORIGIN/../.." INSTALL_RPATH "$ORIGIN/../..")
endfunction()

# NAME_plugin of the stable tier: the same objects, and inside it what they need.
function(drover_link_stable name)
  cmake_path(GET Protobuf_LIBRARY PARENT_PATH beside)
  foreach(library protobuf utf8proc)
    string(TOUPPER DROVER_${library}_ARCHIVE archive)
    find_library(${archive} lib${library}.a HINTS ${beside})
    if(NOT ${archive})
      message(FATAL_ERROR "drover_add_plugin(${name} IN_PROCESS) with \"tier\": \"stable\" needs lib${library}.a, which lies in lib${library}-dev")
    endif()
  endforeach()
  add_library(${name}_plugin MODULE $<TARGET_OBJECTS:${name}_objects> $<TARGET_OBJECTS:drover_stable_entry>)
  # The C++ library lies inside, too: libprotobuf.a may only meet it there, and any other may be in the process. Its archive is
  # named before ours as well: functions of std::string stand in both, and mold takes what is named first, with all that the
  # file beside them needs.
  target_link_libraries(${name}_plugin PRIVATE
    ${ARGN} -l:libstdc++.a $<LINK_ONLY:drover_stable> ${DROVER_PROTOBUF_ARCHIVE} ${DROVER_UTF8PROC_ARCHIVE} -static-libstdc++ -static-libgcc)
  # A sanitized build of this tree drops nothing, so functions that are never called need their libraries, too.
  set(undefined defs)
  if(DROVER_SANITIZE)
    set(undefined undefs)
  endif()
  target_link_options(${name}_plugin PRIVATE
    -Wl,--version-script=${DROVER_STABLE_MAP} -Wl,--exclude-libs,ALL -Wl,--gc-sections -Wl,--as-needed -Wl,-z,${undefined})
  set_target_properties(${name}_plugin PROPERTIES
    LINKER_LANGUAGE CXX LINK_DEPENDS "${DROVER_STABLE_MAP};${DROVER_PROTOBUF_ARCHIVE};${DROVER_UTF8PROC_ARCHIVE}" SKIP_BUILD_RPATH ON)
endfunction()

function(drover_add_plugin name)
  cmake_parse_arguments(ARG "IN_PROCESS;EXECUTABLE" "MANIFEST;FOLDER" "LAYERS;SOURCES;PROTOS;LIBRARIES" ${ARGN})
  if(NOT ARG_IN_PROCESS AND NOT ARG_EXECUTABLE)
    message(FATAL_ERROR "drover_add_plugin(${name}): one of IN_PROCESS and EXECUTABLE is needed")
  endif()
  if(ARG_PROTOS)
    drover_generate_messages(generated ${CMAKE_CURRENT_SOURCE_DIR} ${ARG_PROTOS})
  endif()
  # An object library, so that the plugin's tests link the same objects.
  add_library(${name}_objects OBJECT ${ARG_SOURCES} ${generated})
  target_include_directories(${name}_objects PUBLIC ${CMAKE_CURRENT_SOURCE_DIR} ${CMAKE_CURRENT_BINARY_DIR}/generated)
  set(layers drover_sdk)
  if(ARG_LAYERS)
    list(TRANSFORM ARG_LAYERS PREPEND drover_ OUTPUT_VARIABLE layers)
    foreach(layer api driver)
      if(NOT layer IN_LIST ARG_LAYERS)
        string(TOUPPER DROVER_WITHOUT_${layer} without)
        target_compile_definitions(${name}_objects PRIVATE ${without})
      endif()
    endforeach()
  endif()
  target_link_libraries(${name}_objects PUBLIC ${layers} ${ARG_LIBRARIES} PRIVATE $<TARGET_NAME_IF_EXISTS:drover_warnings>)
  set_target_properties(${name}_objects PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  if(COMMAND drover_fast_build)  # in this tree
    drover_fast_build(${name}_objects library)
    drover_compile_alone(${name}_plugin.cc)  # tests link the objects without the entry
  endif()
  if(NOT ARG_MANIFEST)
    set(ARG_MANIFEST ${CMAKE_CURRENT_SOURCE_DIR}/plugin.json)
  endif()
  if(ARG_IN_PROCESS)
    drover_read_tier(tier ${name} ${ARG_MANIFEST})
    if(tier STREQUAL "stable")
      target_compile_definitions(${name}_objects PRIVATE DROVER_STABLE_TIER)  # drover/serve.h
    endif()
  endif()
  set(programs ${CMAKE_BINARY_DIR}/lib/drover/drivers)
  set(modules ${DROVER_PLUGIN_OUTPUT_DIRECTORY})
  if(ARG_FOLDER)
    set(programs ${ARG_FOLDER})
    set(modules ${ARG_FOLDER})
  elseif(NOT modules)  # in another project
    set(programs ${CMAKE_CURRENT_BINARY_DIR})
    set(modules ${CMAKE_CURRENT_BINARY_DIR})
  endif()

  if(ARG_EXECUTABLE)
    add_executable(${name}_program)
    target_link_libraries(${name}_program PRIVATE ${name}_objects drover_serve_main)
    set_target_properties(${name}_program PROPERTIES
      OUTPUT_NAME ${name}-plugin RUNTIME_OUTPUT_DIRECTORY ${programs}
      INSTALL_RPATH "$ORIGIN/../..;${CMAKE_INSTALL_PREFIX}/lib")
    if(NOT ARG_FOLDER)
      set_property(GLOBAL APPEND PROPERTY DROVER_PROGRAMS ${name}_program)
      install(TARGETS ${name}_program RUNTIME DESTINATION lib/drover/drivers)
    endif()
  endif()
  if(NOT ARG_IN_PROCESS)
    return()
  endif()

  if(tier STREQUAL "stable")
    drover_link_stable(${name} ${ARG_LIBRARIES})
  else()
    drover_link_exact(${name})
  endif()
  target_link_options(${name}_plugin PRIVATE -Wl,-z,nodelete)
  set_target_properties(${name}_plugin PROPERTIES PREFIX "" OUTPUT_NAME ${name} LIBRARY_OUTPUT_DIRECTORY ${modules})
  configure_file(${ARG_MANIFEST} ${modules}/${name}.json COPYONLY)
  if(ARG_FOLDER)
    return()
  endif()
  set_property(GLOBAL APPEND PROPERTY DROVER_MODULES ${name}_plugin)
  install(TARGETS ${name}_plugin LIBRARY DESTINATION lib/drover/plugins)
  install(FILES ${ARG_MANIFEST} DESTINATION lib/drover/plugins RENAME ${name}.json)
endfunction()

function(drover_add_conformance_test name)
  cmake_parse_arguments(ARG "" "TASKS;CONFIG" "" ${ARGN})
  set(options -sdk)
  if(ARG_TASKS)
    list(APPEND options -task ${ARG_TASKS})
  endif()
  if(ARG_CONFIG)
    list(APPEND options -config ${ARG_CONFIG})
  endif()
  if(TARGET drover)
    set(program $<TARGET_FILE:drover>)
  else()
    find_program(DROVER_PROGRAM drover HINTS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../bin REQUIRED)
    set(program ${DROVER_PROGRAM})
  endif()
  foreach(form program plugin)
    if(TARGET ${name}_${form})
      add_test(NAME ${name}_${form}_conformance COMMAND ${program} plugin test ${options} $<TARGET_FILE:${name}_${form}>)
      set_tests_properties(${name}_${form}_conformance PROPERTIES TIMEOUT 300)
    endif()
  endforeach()
endfunction()

# Sources of the messages and services of CSI, and of more .proto files of this folder, with gRPC's own C++; sets OUT_SOURCES.
# They lie in the folder `generated` of the build.
function(drover_csi_messages out_sources)
  find_program(DROVER_GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
  set(root ${DROVER_PROTO_ROOT})
  set(generated ${CMAKE_CURRENT_BINARY_DIR}/generated)
  file(MAKE_DIRECTORY ${generated})
  add_custom_command(
    OUTPUT ${generated}/csi/v1/csi.pb.cc ${generated}/csi/v1/csi.pb.h ${generated}/csi/v1/csi.grpc.pb.cc ${generated}/csi/v1/csi.grpc.pb.h
    COMMAND protobuf::protoc --cpp_out=${generated} --grpc_out=${generated}
      --plugin=protoc-gen-grpc=${DROVER_GRPC_CPP_PLUGIN} -I ${root} ${root}/csi/v1/csi.proto
    DEPENDS ${root}/csi/v1/csi.proto
    COMMENT "Messages and services of CSI")
  set(sources ${generated}/csi/v1/csi.pb.cc ${generated}/csi/v1/csi.grpc.pb.cc)
  foreach(proto ${ARGN})
    string(REGEX REPLACE "\\.proto$" "" stem ${proto})
    add_custom_command(
      OUTPUT ${generated}/${stem}.pb.cc ${generated}/${stem}.pb.h
      COMMAND protobuf::protoc --cpp_out=${generated} -I ${CMAKE_CURRENT_SOURCE_DIR} -I ${root} ${CMAKE_CURRENT_SOURCE_DIR}/${proto}
      DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${proto}
      COMMENT "Messages of ${proto}")
    list(APPEND sources ${generated}/${stem}.pb.cc)
  endforeach()
  set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "-w")
  set(${out_sources} ${sources} PARENT_SCOPE)
endfunction()

# drover_add_csi_test(TARGET [OPTIONS …] [-- ARGUMENTS …]): has CTest run the kit for storage plugins over the program,
# with the kit's options and the program's arguments.
function(drover_add_csi_test name)
  find_program(DROVER_PROGRAM drover HINTS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../bin REQUIRED)
  set(options ${ARGN})
  set(arguments)
  list(FIND options "--" at)
  if(at GREATER_EQUAL 0)
    list(SUBLIST options ${at} -1 arguments)
    list(SUBLIST options 0 ${at} options)
  endif()
  add_test(NAME ${name}_conformance COMMAND ${DROVER_PROGRAM} plugin test -kind csi ${options} $<TARGET_FILE:${name}> ${arguments})
  set_tests_properties(${name}_conformance PROPERTIES TIMEOUT 300)
endfunction()
