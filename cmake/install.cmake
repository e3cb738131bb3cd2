# cmake --install: what a program out of tree needs. Libraries as coppice::cloud, coppice::app and so on,
# the headers, and a package file that finds the same dependencies as this build
# (docs/extending/out-of-tree.md).
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

get_property(installed GLOBAL PROPERTY COPPICE_PLUGIN_LIBRARIES)
get_property(modules GLOBAL PROPERTY COPPICE_MODULES)
foreach(target ${modules} coppice_app coppice_proto)
  if(TARGET ${target})
    list(APPEND installed ${target})
  endif()
endforeach()
foreach(target ${installed})
  string(REGEX REPLACE "^coppice_" "" name ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name})
endforeach()
install(TARGETS ${installed} EXPORT coppice ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}/coppice)
install(EXPORT coppice NAMESPACE coppice:: FILE coppiceTargets.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/coppice)

install(DIRECTORY ${CMAKE_SOURCE_DIR}/src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/coppice
  FILES_MATCHING PATTERN "*.h")
# The suites that a plug-in's own test instantiates, and what they need.
install(DIRECTORY ${CMAKE_SOURCE_DIR}/test/conformance ${CMAKE_SOURCE_DIR}/test/support
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/coppice/test FILES_MATCHING PATTERN "*.h")

configure_file(${CMAKE_SOURCE_DIR}/cmake/coppiceConfig.cmake.in
  ${CMAKE_BINARY_DIR}/coppiceConfig.cmake @ONLY)
write_basic_package_version_file(${CMAKE_BINARY_DIR}/coppiceConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/coppiceConfig.cmake ${CMAKE_BINARY_DIR}/coppiceConfigVersion.cmake
  ${CMAKE_SOURCE_DIR}/cmake/dependencies.cmake
  DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/coppice)
