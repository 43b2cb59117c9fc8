# SPDX-License-Identifier: MIT
# What Meson installs, in the same places below the prefix.
install(TARGETS kinformer kinformer-testing
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(kinformer_tools)
  install(TARGETS kin-apisim kinformer-program DESTINATION ${CMAKE_INSTALL_BINDIR})
  install(FILES tools/apisim/kin-apisim.1 tools/kinformer/kinformer.1
    DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
install(FILES ${headers} ${PROJECT_BINARY_DIR}/include/kin/version.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kin)
install(FILES include/kin/testing/fake_source.h
  DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/kin/testing)

set(kinformer_requires_zlib "")
if(kinformer_has_zlib)
  set(kinformer_requires_zlib ", zlib")
endif()
set(kinformer_requires_zstd "")
if(kinformer_has_zstd)
  set(kinformer_requires_zstd ", libzstd >= 1.4")
endif()
set(kinformer_requires_yaml "")
if(kinformer_has_kubeconfig)
  set(kinformer_requires_yaml ", yaml-0.1")
endif()
# Below the prefix, so that pkg-config can say where it has been moved to. In its
# files a blank begins another word.
string(REPLACE " " "\\ " kinformer_PREFIX "${CMAKE_INSTALL_PREFIX}")
foreach(folder LIBDIR INCLUDEDIR)
  string(REPLACE " " "\\ " kinformer_${folder} "${CMAKE_INSTALL_${folder}}")
  if(NOT IS_ABSOLUTE "${CMAKE_INSTALL_${folder}}")
    set(kinformer_${folder} "\${prefix}/${kinformer_${folder}}")
  endif()
endforeach()
foreach(module kinformer kinformer-testing)
  configure_file(cmake/${module}.pc.in cmake/${module}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/cmake/${module}.pc
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endforeach()

set(HAS_ZLIB ${kinformer_has_zlib})
set(HAS_ZSTD ${kinformer_has_zstd})
set(HAS_KUBECONFIG ${kinformer_has_kubeconfig})
if(NOT DEFINED KINFORMER_CMAKE_DIR)
  set(KINFORMER_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/kinformer)
endif()
if(IS_ABSOLUTE "${CMAKE_INSTALL_LIBDIR}" OR IS_ABSOLUTE "${CMAKE_INSTALL_INCLUDEDIR}")
  # Packagers with a folder for each kind of file move this one alone.
  set(LIBDIR ${CMAKE_INSTALL_FULL_LIBDIR})
  set(INCLUDEDIR ${CMAKE_INSTALL_FULL_INCLUDEDIR})
else()
  # From the folder of the file, so that the installation can be moved.
  get_filename_component(kinformer_cmake_dir "${KINFORMER_CMAKE_DIR}" ABSOLUTE
    BASE_DIR "${CMAKE_INSTALL_PREFIX}")
  file(RELATIVE_PATH LIBDIR ${kinformer_cmake_dir} ${CMAKE_INSTALL_FULL_LIBDIR})
  file(RELATIVE_PATH INCLUDEDIR
    ${CMAKE_INSTALL_FULL_LIBDIR} ${CMAKE_INSTALL_FULL_INCLUDEDIR})
endif()
foreach(file kinformerConfig.cmake kinformerConfigVersion.cmake)
  configure_file(cmake/${file}.in cmake/${file} @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/cmake/${file}
    DESTINATION ${KINFORMER_CMAKE_DIR})
endforeach()
install(FILES cmake/kinformerDependencies.cmake
  DESTINATION ${KINFORMER_CMAKE_DIR})
