# SPDX-License-Identifier: MIT
# Finds what the library needs: for CMakeLists.txt, and for a program that has
# found an installed library (kinformerConfig.cmake). A target that the program
# has already is taken as it is. Sets kinformer_public and kinformer_private to
# targets, and kinformer_missing to names.

# kinformer_dependency(NAME LEAST PUBLIC|PRIVATE MODULE PACKAGE TARGET...)
# LEAST is the least version, MODULE the name for pkg-config, PACKAGE that of
# the CMake package, which has one of the targets.
macro(kinformer_dependency name least scope module package)
  kinformer_find_target(kinformer_target ${name} ${least} ${module} ${package} ${ARGN})
  if(NOT kinformer_target)
    list(APPEND kinformer_missing "${module} >= ${least}")
  elseif("${scope}" STREQUAL "PUBLIC")
    list(APPEND kinformer_public ${kinformer_target})
  else()
    list(APPEND kinformer_private ${kinformer_target})
  endif()
endmacro()

function(kinformer_find_target out name least module package)
  set(${out} "" PARENT_SCOPE)
  foreach(target ${ARGN})
    if(TARGET ${target})
      set(${out} ${target} PARENT_SCOPE)
      return()
    endif()
  endforeach()
  find_package(PkgConfig QUIET)
  if(PkgConfig_FOUND)
    # GLOBAL, because a project above this one links it, too.
    pkg_check_modules(KINFORMER_${name} QUIET IMPORTED_TARGET GLOBAL ${module}>=${least})
    if(KINFORMER_${name}_FOUND)
      set(${out} PkgConfig::KINFORMER_${name} PARENT_SCOPE)
      return()
    endif()
  endif()
  find_package(${package} ${least} QUIET)
  foreach(target ${ARGN})
    if(TARGET ${target})
      get_target_property(imported ${target} IMPORTED)
      if(imported)
        set_target_properties(${target} PROPERTIES IMPORTED_GLOBAL TRUE)
      endif()
      set(${out} ${target} PARENT_SCOPE)
      return()
    endif()
  endforeach()
endfunction()

set(kinformer_public "")
set(kinformer_private "")
set(kinformer_missing "")
# The public headers use libuv's types, and programs may read an object's
# document with yyjson.
kinformer_dependency(uv 1.44 PUBLIC libuv libuv libuv::uv libuv::uv_a uv uv_a)
kinformer_dependency(yyjson 0.10 PUBLIC yyjson yyjson yyjson::yyjson yyjson)
kinformer_dependency(llhttp 8 PRIVATE libllhttp llhttp
  llhttp::llhttp llhttp::llhttp_shared llhttp::llhttp_static llhttp llhttp_shared llhttp_static)
kinformer_dependency(openssl 3 PRIVATE openssl OpenSSL OpenSSL::SSL)
if(TARGET OpenSSL::Crypto)
  list(APPEND kinformer_private OpenSSL::Crypto)
endif()
