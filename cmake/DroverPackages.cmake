# Debian packages, by `cpack -G DEB` in the build folder: drover, what runs; drover-sdk, what plugins are built against.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR "The drover project")
set(CPACK_PACKAGE_CONTACT "The drover project <drover@localhost>")
set(CPACK_PACKAGE_NAME drover)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_GROUPING IGNORE)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_COMPONENTS_ALL drover drover-sdk)

set(CPACK_DEBIAN_DROVER_PACKAGE_NAME drover)
set(CPACK_DEBIAN_DROVER_PACKAGE_SECTION admin)
set(CPACK_DEBIAN_DROVER_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_DROVER_DESCRIPTION "A workload orchestrator: a microkernel with plugins\n Runs jobs on machines: places them, starts them through task drivers, watches and repairs them.")

set(CPACK_DEBIAN_DROVER-SDK_PACKAGE_NAME drover-sdk)
set(CPACK_DEBIAN_DROVER-SDK_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DROVER-SDK_PACKAGE_DEPENDS
  "drover (= ${PROJECT_VERSION}), cmake (>= 3.25), g++, libgrpc++-dev, libprotobuf-dev, protobuf-compiler, protobuf-compiler-grpc")
set(CPACK_DEBIAN_DROVER-SDK_DESCRIPTION "What plugins of drover are built against\n Headers, messages, libraries and CMake functions for task drivers and device plugins in C++.")
set(CPACK_DEBIAN_PRIVATE_SHLIBS ON)
include(CPack)
