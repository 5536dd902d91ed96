# seedance::llama_cpp: llama, ggml and llama.cpp's common (chat templates), as
# `tools/setup` built them, once for all presets and never with a sanitizer.
include_guard(GLOBAL)

set(llama_source ${PROJECT_SOURCE_DIR}/.deps/llama.cpp)
set(llama_build ${PROJECT_SOURCE_DIR}/.deps/llama-build)
if(NOT SEEDANCE_LLAMA_DIR AND DEFINED ENV{SEEDANCE_LLAMA_DIR})
  set(SEEDANCE_LLAMA_DIR $ENV{SEEDANCE_LLAMA_DIR})
endif()
if(SEEDANCE_LLAMA_DIR)
  set(llama_source ${SEEDANCE_LLAMA_DIR})
  string(APPEND llama_build -own)
endif()
if(SEEDANCE_CUDA)
  string(APPEND llama_build -cuda)
endif()

# In link order: users before what they use.
set(llama_archives llama-common llama-common-base cpp-httplib llama ggml)
if(SEEDANCE_CUDA)
  list(APPEND llama_archives ggml-cuda)
endif()
list(APPEND llama_archives ggml-cpu ggml-base)
list(TRANSFORM llama_archives REPLACE "(.+)" "${llama_build}/lib/lib\\1.a")

foreach(archive ${llama_archives})
  if(NOT EXISTS ${archive})
    message(FATAL_ERROR "No ${archive}: run 'make setup' with the same SEEDANCE_* settings")
  endif()
endforeach()

add_library(seedance_llama_cpp INTERFACE)
add_library(seedance::llama_cpp ALIAS seedance_llama_cpp)
target_include_directories(seedance_llama_cpp SYSTEM INTERFACE
  ${llama_source}/include ${llama_source}/ggml/include ${llama_source}/common
  ${llama_source}/src ${llama_source}/vendor)
target_compile_definitions(seedance_llama_cpp INTERFACE LLAMA_SUBPROCESS)
# g++ made the archives, with OpenMP: its runtime serves them, whoever links.
target_link_libraries(seedance_llama_cpp INTERFACE
  ${llama_archives} gomp Threads::Threads ${CMAKE_DL_LIBS})
if(SEEDANCE_CUDA)
  find_package(CUDAToolkit REQUIRED)
  target_link_libraries(seedance_llama_cpp INTERFACE
    CUDA::cudart CUDA::cublas CUDA::cuda_driver)
endif()
