# Compiler, linker, warnings and sanitizers: everything that is the same for every target.

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CCACHE})
endif()
# Half of the time of compiling a file goes into headers that its neighbours read as well. So whoever builds everything compiles
# several files as one (names in unnamed namespaces are unique within a module: tools/check_unity), and whoever edits does not.
if(COPPICE_UNITY)
  set(CMAKE_UNITY_BUILD ON)
  set(CMAKE_UNITY_BUILD_BATCH_SIZE 8)
endif()
find_program(MOLD mold)
if(MOLD)
  add_link_options(-fuse-ld=mold)
endif()

# __FILE__ is the path below the tree: the same in every clone, so that the compiler cache serves them all.
add_compile_options(-ffile-prefix-map=${CMAKE_SOURCE_DIR}/=)
add_compile_options(-Wall -Wextra -Wpedantic -Wshadow -Werror
                    -Wno-missing-field-initializers)  # designated initialisers are our named arguments
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # g++ 12 reports these two in code of the standard library that it has inlined itself.
  add_compile_options(-Wno-maybe-uninitialized -Wno-restrict -Wno-stringop-overflow -Wno-array-bounds)
  if(COPPICE_UNITY)
    # Meant for headers, and a .cc file that another one includes looks like one.
    add_compile_options(-Wno-subobject-linkage)
  endif()
else()
  # The second: libstdc++ 12 itself uses what it deprecates (std::stable_sort).
  add_compile_options(-Wno-missing-designated-field-initializers -Wno-deprecated-declarations)
  add_compile_options(-Wthread-safety)  # base/mutex.h: what is read with which lock held
  if(COPPICE_UNITY)
    # Of a neighbour's aliases, too, which is nobody's concern; g++ looks at the rest.
    add_compile_options(-Wno-shadow)
  endif()
endif()

set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g1")
if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
  # Every x86-64 server of the last fifteen years has it, and the column scans want it.
  add_compile_options(-march=x86-64-v2)
endif()

if(COPPICE_SANITIZE)
  set(CMAKE_CXX_FLAGS_DEBUG "-O1 -g1")
  add_compile_options(-fsanitize=${COPPICE_SANITIZE} -fno-omit-frame-pointer)
  if(COPPICE_SANITIZE MATCHES "undefined")
    add_compile_options(-fno-sanitize-recover=all)
  endif()
  add_link_options(-fsanitize=${COPPICE_SANITIZE})
endif()
if(COPPICE_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)
endif()

# For files that are many or large and seldom run: what they do costs microseconds, compiling them with all
# optimisations costs minutes.
set(COPPICE_QUICK_LEVEL -O0)
if(CMAKE_BUILD_TYPE STREQUAL "Release")
  set(COPPICE_QUICK_LEVEL -O1)
endif()
set(COPPICE_TEST_OPTIONS ${COPPICE_QUICK_LEVEL})  # tests' own files
if(COPPICE_FUZZ)
  list(APPEND COPPICE_TEST_OPTIONS -fno-sanitize=fuzzer-no-link)  # nobody looks for new paths through a test
endif()
