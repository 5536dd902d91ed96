# seedance_module(name [SINGLE_THREADED]
#                 DEPS ... HEADERS ... SOURCES ... TESTS ... FUZZ ... LIBS ... TEST_LIBS ...)
#
# Makes the library seedance::<name> of src/<name>, which may include the
# modules in DEPS (tools/tidy.py holds DEPS to the table of the architecture)
# and the outside libraries in LIBS. Headers are compiled alone in `all`.
# TESTS become one binary, <name>_test; each FUZZ file a fuzz target, or, without
# SEEDANCE_FUZZ, a test that replays tests/corpus/<target>. What has no second thread is not
# built for tsan, which could see nothing: the tests of SINGLE_THREADED modules, and replays.
add_library(seedance_flags INTERFACE)
target_compile_options(seedance_flags INTERFACE
  -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Wnon-virtual-dtor
  -Woverloaded-virtual -fno-omit-frame-pointer)
target_include_directories(seedance_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  # Fields that a designated initializer leaves out have their defaults: that is its point.
  target_compile_options(seedance_flags INTERFACE -Wno-missing-designated-field-initializers)
  target_link_options(seedance_flags INTERFACE -fuse-ld=lld)
endif()
if(SEEDANCE_SANITIZE)
  target_compile_options(seedance_flags INTERFACE
    -fsanitize=${SEEDANCE_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(seedance_flags INTERFACE -fsanitize=${SEEDANCE_SANITIZE})
endif()

string(COMPARE EQUAL "${SEEDANCE_SANITIZE}" thread tsan)

if(SEEDANCE_FUZZ)  # The code under test tells the fuzzer what it reached.
  target_compile_options(seedance_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

# What is tested is optimized, not the tests: most of their code runs once.
add_library(seedance_test_flags INTERFACE)
target_compile_options(seedance_test_flags INTERFACE $<$<CONFIG:RelWithDebInfo>:-O0>)

include(precompiled)

# seedance_test(target LIBRARY...): the target, made of GoogleTests, uses these.
function(seedance_test target)
  target_link_libraries(${target} PRIVATE ${ARGN} seedance_test_flags GTest::gmock_main)
  target_precompile_headers(${target} REUSE_FROM precompiled_test)
endfunction()

if(NOT SEEDANCE_FUZZ)
  add_library(replay_main OBJECT EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/tests/replay_main.cc)
  target_link_libraries(replay_main PRIVATE seedance_flags)
endif()

function(seedance_module name)
  cmake_parse_arguments(ARG "SINGLE_THREADED" "" "DEPS;HEADERS;SOURCES;TESTS;FUZZ;LIBS;TEST_LIBS"
                        ${ARGN})
  set(target seedance_${name})
  add_library(${target} STATIC ${ARG_SOURCES})
  add_library(seedance::${name} ALIAS ${target})
  target_sources(${target} PUBLIC FILE_SET HEADERS
    BASE_DIRS ${PROJECT_SOURCE_DIR}/src FILES ${ARG_HEADERS})
  set_target_properties(${target} PROPERTIES
    LINKER_LANGUAGE CXX VERIFY_INTERFACE_HEADER_SETS ON)
  list(TRANSFORM ARG_DEPS PREPEND seedance::)
  target_link_libraries(${target} PUBLIC seedance_flags ${ARG_DEPS} ${ARG_LIBS})
  target_precompile_headers(${target} REUSE_FROM precompiled_module)

  if(ARG_SINGLE_THREADED)
    foreach(source ${ARG_SOURCES} ${ARG_TESTS})
      file(STRINGS ${source} threads REGEX "#include <(thread|future|pthread\\.h)>")
      if(threads)
        message(FATAL_ERROR "${source} starts threads: module ${name} is not SINGLE_THREADED")
      endif()
    endforeach()
    if(tsan)
      set(ARG_TESTS)
    endif()
  endif()

  if(ARG_TESTS)
    add_executable(${name}_test ${ARG_TESTS})
    seedance_test(${name}_test ${target} ${ARG_TEST_LIBS})
    if(ARG_FUZZ)  # base/test_seeds.h
      target_compile_definitions(${name}_test PRIVATE
        SEEDANCE_CORPUS="${PROJECT_SOURCE_DIR}/tests/corpus")
    endif()
    add_test(NAME ${name} COMMAND ${name}_test)
  endif()

  if(tsan)
    set(ARG_FUZZ)
  endif()
  foreach(source ${ARG_FUZZ})
    cmake_path(GET source STEM fuzzer)
    set(corpus ${PROJECT_SOURCE_DIR}/tests/corpus/${fuzzer})
    if(SEEDANCE_FUZZ)
      add_executable(${fuzzer} ${source})
      target_link_options(${fuzzer} PRIVATE -fsanitize=fuzzer)
      # New inputs go to the first directory, not into the source tree.
      file(MAKE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/${fuzzer}_found)
      add_test(NAME ${fuzzer}
               COMMAND sh -c "exec \"$0\" -max_total_time=\${SEEDANCE_FUZZ_SECONDS:-10} \"$@\""
                       $<TARGET_FILE:${fuzzer}> ${fuzzer}_found ${corpus}
               WORKING_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR})
    else()
      add_executable(${fuzzer} ${source} $<TARGET_OBJECTS:replay_main>)
      add_test(NAME ${fuzzer} COMMAND ${fuzzer} ${corpus})
    endif()
    target_link_libraries(${fuzzer} PRIVATE ${target})
  endforeach()
endfunction()
