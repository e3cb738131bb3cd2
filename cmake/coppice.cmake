# coppice_module(NAME DEPS module... LIBS library...)
#   src/NAME/*.cc is the library coppice_NAME; *_test.cc, *_bench.cc and *_fuzz.cc beside it become the
#   programs NAME_test, NAME_bench and one fuzz target each. New files are found without editing anything.
#   *_full_test.cc need every plug-in and become NAME_full_test, linked against the whole program: apart, so
#   that whoever changes a module links its other tests in a moment.
#   DEPS is the list that tools/check_layers holds the includes against.
# coppice_plugins(ROOT)
#   every ROOT/KIND/NAME/plugin.cc is the library coppice_plugin_KIND_NAME. A folder that needs another
#   library says so in a plugin.cmake of its own: set(PLUGIN_DEPS ...), set(PLUGIN_LIBS ...).

# The files of `dir` in four heaps: library, tests, benches, fuzz targets.
macro(coppice_sort_sources dir)
  file(GLOB_RECURSE files_of_dir CONFIGURE_DEPENDS ${dir}/*.cc)
  coppice_heaps("${files_of_dir}")
endmacro()
function(coppice_heaps all)
  set(lib ${all})
  list(FILTER lib EXCLUDE REGEX "(_test|_bench|_fuzz|/main)\\.cc$")
  foreach(heap test bench fuzz)
    set(picked ${all})
    list(FILTER picked INCLUDE REGEX "_${heap}\\.cc$")
    set(${heap}_sources ${picked} PARENT_SCOPE)
  endforeach()
  set(lib_sources ${lib} PARENT_SCOPE)
endfunction()

# Test, bench and fuzz programs of one folder, linked against `library`.
function(coppice_programs name library dir)
  coppice_sort_sources(${dir})
  coppice_programs_of(${name} ${library})
endfunction()
# The same of the files that have been sorted.
function(coppice_programs_of name library)
  set(full_sources ${test_sources})
  list(FILTER full_sources INCLUDE REGEX "_full_test\\.cc$")
  list(FILTER test_sources EXCLUDE REGEX "_full_test\\.cc$")
  if(COPPICE_FUZZ)
    foreach(source ${fuzz_sources})
      get_filename_component(target ${source} NAME_WE)
      add_executable(${target} ${source})
      target_link_options(${target} PRIVATE -fsanitize=fuzzer)
      target_link_libraries(${target} PRIVATE ${library})
    endforeach()
  endif()
  if(COPPICE_TESTS)
    if(test_sources)
      add_executable(${name}_test ${test_sources})
      target_compile_options(${name}_test PRIVATE ${COPPICE_TEST_OPTIONS})
      target_link_libraries(${name}_test PRIVATE ${library} coppice_test_support GTest::gmock_main)
      add_test(NAME ${name} COMMAND ${name}_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    endif()
    if(full_sources)
      add_executable(${name}_full_test ${full_sources})
      target_compile_options(${name}_full_test PRIVATE ${COPPICE_TEST_OPTIONS})
      target_link_libraries(${name}_full_test PRIVATE coppice_app coppice_test_support GTest::gmock_main)
      add_test(NAME ${name}_full COMMAND ${name}_full_test WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
    endif()
    if(bench_sources AND NOT COPPICE_SANITIZE)  # figures of a sanitizer's build say nothing
      add_executable(${name}_bench EXCLUDE_FROM_ALL ${bench_sources})
      add_dependencies(benches ${name}_bench)
      target_link_libraries(${name}_bench PRIVATE ${library} coppice_test_support benchmark::benchmark_main)
    endif()
  endif()
endfunction()

function(coppice_module name)
  cmake_parse_arguments(arg "" "" "DEPS;LIBS" ${ARGN})
  set(dir ${CMAKE_SOURCE_DIR}/src/${name})
  if(NOT EXISTS ${dir})
    return()  # declared in the layer table, not written yet
  endif()
  coppice_sort_sources(${dir})
  if(lib_sources)
    add_library(coppice_${name} STATIC ${lib_sources})
    set(scope PUBLIC)
  else()
    add_library(coppice_${name} INTERFACE)
    set(scope INTERFACE)
  endif()
  target_include_directories(coppice_${name} ${scope}
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src> $<INSTALL_INTERFACE:include/coppice>)
  set(deps "")
  foreach(dep ${arg_DEPS})
    list(APPEND deps coppice_${dep})
  endforeach()
  target_link_libraries(coppice_${name} ${scope} ${deps} ${arg_LIBS})
  set_property(GLOBAL APPEND PROPERTY COPPICE_MODULES coppice_${name})  # for who takes all of them
  coppice_programs(${name} coppice_${name} ${dir})
endfunction()

# Makes `library` of the sources in lib_sources, for plug-ins of `kind` under `root`; `deps` are modules, `libs` other libraries.
function(coppice_plugin_library library kind root deps libs)
  add_library(${library} STATIC ${lib_sources})
  get_filename_component(above ${root} DIRECTORY)  # files are included as plugins/KIND/NAME/file.h
  target_include_directories(${library} PUBLIC $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}/src>
    $<BUILD_INTERFACE:${CMAKE_SOURCE_DIR}> $<BUILD_INTERFACE:${above}> $<INSTALL_INTERFACE:include/coppice>)
  set(modules coppice_${COPPICE_KIND_MODULE_${kind}})
  foreach(dep ${deps})
    list(APPEND modules coppice_${dep})
  endforeach()
  target_link_libraries(${library} PUBLIC ${modules} ${libs})
  set_property(GLOBAL APPEND PROPERTY COPPICE_PLUGIN_LIBRARIES ${library})
endfunction()

# Most plug-ins are one short file, and most of its compile time is the headers of its kind. Where several files are compiled as
# one, the folders of a kind that need no library of their own become one library and one test program, KIND_plugins_test;
# their own names stay as what links and what is built.
function(coppice_plugins_together root kind)
  set(together "")
  foreach(name ${ARGN})
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${root}/${kind}/${name}/*.cc)
    list(APPEND together ${sources})
  endforeach()
  coppice_heaps("${together}")
  coppice_plugin_library(coppice_plugins_${kind} ${kind} ${root} "" "")
  coppice_programs_of(${kind}_plugins coppice_plugins_${kind})
  foreach(name ${ARGN})
    add_library(coppice_plugin_${kind}_${name} INTERFACE)
    target_link_libraries(coppice_plugin_${kind}_${name} INTERFACE coppice_plugins_${kind})
    set_property(GLOBAL APPEND PROPERTY COPPICE_PLUGIN_LIBRARIES coppice_plugin_${kind}_${name})
    if(TARGET ${kind}_plugins_test)
      add_custom_target(${kind}_${name}_test DEPENDS ${kind}_plugins_test)
    endif()
  endforeach()
endfunction()

function(coppice_plugins root)
  file(GLOB folders CONFIGURE_DEPENDS ${root}/*/*/plugin.cc)
  set(kinds "")
  foreach(file ${folders})
    get_filename_component(dir ${file} DIRECTORY)
    get_filename_component(name ${dir} NAME)
    get_filename_component(kind_dir ${dir} DIRECTORY)
    get_filename_component(kind ${kind_dir} NAME)
    if(COPPICE_PLUGINS STREQUAL "external" AND kind STREQUAL "clouds")
      continue()
    endif()
    set_property(GLOBAL APPEND PROPERTY COPPICE_PLUGIN_IDS ${kind}/${name})
    if(COPPICE_UNITY AND kind MATCHES "^(filters|expanders|processors|batch)$" AND NOT EXISTS ${dir}/plugin.cmake
       AND root STREQUAL CMAKE_CURRENT_SOURCE_DIR)
      list(APPEND kinds ${kind})
      list(APPEND together_${kind} ${name})
      continue()
    endif()
    set(PLUGIN_DEPS "")
    set(PLUGIN_LIBS "")
    include(${dir}/plugin.cmake OPTIONAL)
    coppice_sort_sources(${dir})
    coppice_plugin_library(coppice_plugin_${kind}_${name} ${kind} ${root} "${PLUGIN_DEPS}" "${PLUGIN_LIBS}")
    coppice_programs(${kind}_${name} coppice_plugin_${kind}_${name} ${dir})
  endforeach()
  list(REMOVE_DUPLICATES kinds)
  foreach(kind ${kinds})
    coppice_plugins_together(${root} ${kind} ${together_${kind}})
  endforeach()
endfunction()

# Writes the loader: one declaration and one call per discovered plug-in. A folder that forgets its
# Register function does not link, so nothing is ever silently missing.
function(coppice_generate_loader output)
  get_property(ids GLOBAL PROPERTY COPPICE_PLUGIN_IDS)
  set(declarations "")
  set(calls "")
  foreach(id ${ids})
    string(REPLACE "/" ";" parts ${id})
    list(GET parts 0 kind)
    list(GET parts 1 name)
    string(APPEND declarations
      "namespace coppice::${kind}::${name} {\nvoid Register(${COPPICE_KIND_REGISTRY_${kind}}&);\n}\n")
    string(APPEND calls "  coppice::${kind}::${name}::Register(plugins.${kind});\n")
  endforeach()
  file(CONFIGURE OUTPUT ${output} @ONLY CONTENT
"// Generated from the folders under plugins/. Do not edit.
#include \"seats/plugins.h\"
@declarations@
namespace coppice::seats {
void RegisterDiscoveredPlugins([[maybe_unused]] Plugins& plugins) {
@calls@}
}  // namespace coppice::seats
")
endfunction()
