# What nearly every source includes, read once a preset: precompiled_module for the modules,
# precompiled_test for their tests. Only headers from outside, so that nobody who changes ours
# waits for these. The preset `dev`, with which lint looks, goes without
# (CMAKE_DISABLE_PRECOMPILE_HEADERS): there a source must include what it uses.
#
# A precompiled header contains its own path, and ccache all of the header: trees that share a cache
# (CCACHE_BASEDIR) gain more by going without.
include_guard(GLOBAL)

if(DEFINED ENV{CCACHE_BASEDIR})
  set(CMAKE_DISABLE_PRECOMPILE_HEADERS ON)
endif()

set(headers_everywhere
  <algorithm> <array> <charconv> <chrono> <deque> <functional> <map> <memory> <optional> <span>
  <string> <string_view> <unordered_map> <utility> <variant> <vector> <fmt/format.h>)
set(headers_of_tests <filesystem> <fstream> <set> <gmock/gmock.h> <gtest/gtest.h>)

file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/precompiled.cc CONTENT "")

function(precompile target)
  add_library(${target} OBJECT EXCLUDE_FROM_ALL ${PROJECT_BINARY_DIR}/precompiled.cc)
  target_link_libraries(${target} PRIVATE seedance_flags fmt::fmt)
  # Else the file would differ each time it is made, and ccache know none of its users.
  target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp")
  target_precompile_headers(${target} PRIVATE ${ARGN})
endfunction()

precompile(precompiled_module ${headers_everywhere})

precompile(precompiled_test ${headers_everywhere} ${headers_of_tests})
target_link_libraries(precompiled_test PRIVATE seedance_test_flags GTest::gmock_main)
# As programs are compiled, which tests are.
set_target_properties(precompiled_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)
target_compile_options(precompiled_test PRIVATE -fPIE)
