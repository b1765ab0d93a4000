# What CMake's language HIP reads about the runtime.
include(${CMAKE_CURRENT_LIST_DIR}/../hip/hip-config.cmake)
if(NOT TARGET hip-lang::device)
  add_library(hip-lang::amdhip64 ALIAS hip::amdhip64)
  add_library(hip-lang::device INTERFACE IMPORTED)
  set_target_properties(hip-lang::device PROPERTIES INTERFACE_LINK_LIBRARIES hip::amdhip64)
endif()
set(_CMAKE_HIP_DEVICE_RUNTIME_TARGET hip-lang::device)
