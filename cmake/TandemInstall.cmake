# `cmake --install` puts below a prefix libraries, headers, tandemc and tandem-opt, and the files by which CMake and pkg-config find
# them. The Python package holds the same below its own folder (setup.py), so nothing here names an absolute path, and the
# links from lib<name>.so to lib<name>.so.<version>, which a wheel cannot hold, are a component of their own.
include(CMakePackageConfigHelpers)
set(cmake_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Tandem)
set(pkgconfig_dir ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
file(RELATIVE_PATH TANDEM_PREFIX_FROM_CMAKE /prefix/${cmake_dir} /prefix)
file(RELATIVE_PATH TANDEM_PREFIX_FROM_PKGCONFIG /prefix/${pkgconfig_dir} /prefix)

set_target_properties(tandem_runtime_library PROPERTIES EXPORT_NAME runtime)
set_target_properties(tandem tandem_runtime_library PROPERTIES INSTALL_RPATH "")
target_compile_features(tandem INTERFACE cxx_std_20)
target_compile_features(tandem_runtime_library INTERFACE cxx_std_20)
install(TARGETS tandem tandem_runtime_library EXPORT TandemTargets COMPONENT tandem
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT tandem NAMELINK_COMPONENT links
  INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS tandemc tandem-opt RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT tandem)
install(EXPORT TandemTargets NAMESPACE Tandem:: DESTINATION ${cmake_dir} COMPONENT tandem)

# The operators' headers are links in the build's folder: the files that they lead to are installed.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/include/tandem DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT tandem FILES_MATCHING PATTERN "*.h")
foreach(header ${TANDEM_OPERATOR_HEADERS})
  install(FILES ${header} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tandem/ops COMPONENT tandem)
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/version.h.in ${CMAKE_BINARY_DIR}/include/tandem/version.h @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/include/tandem/version.h ${CMAKE_BINARY_DIR}/include/tandem/ops.h
  ${CMAKE_BINARY_DIR}/include/tandem/ops_c_api.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/tandem COMPONENT tandem)

configure_file(${CMAKE_CURRENT_LIST_DIR}/TandemConfig.cmake.in ${CMAKE_BINARY_DIR}/TandemConfig.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TandemConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/TandemConfig.cmake ${CMAKE_BINARY_DIR}/TandemConfigVersion.cmake DESTINATION ${cmake_dir} COMPONENT tandem)

function(tandem_pkgconfig name library description)
  configure_file(${CMAKE_SOURCE_DIR}/cmake/tandem.pc.in ${CMAKE_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${CMAKE_BINARY_DIR}/${name}.pc DESTINATION ${pkgconfig_dir} COMPONENT tandem)
endfunction()
tandem_pkgconfig(tandem tandem "Compiler, simulator and runtime for Triton-syntax kernels that compute and communicate at once")
tandem_pkgconfig(tandem-runtime tandem_runtime "Loads and launches kernels that tandemc compiled for a GPU")

# This target builds everything that an install holds.
add_custom_target(tandem_distribution DEPENDS tandem tandem_runtime_library tandem_python tandem_stubs tandemc tandem-opt tandem_ops_c_api)
