# find_package(hip): hip::host for host code that calls the runtime, hip::device for HIP sources.
get_filename_component(hip_HOME "${CMAKE_CURRENT_LIST_DIR}/../../.." ABSOLUTE)
set(hip_VERSION 6.4.0)
set(hip_FOUND TRUE)
set(hip_INCLUDE_DIR ${hip_HOME}/include)
set(hip_INCLUDE_DIRS ${hip_INCLUDE_DIR})
set(hip_LIB_INSTALL_DIR ${hip_HOME}/lib)
set(HIP_COMPILER clang)
set(HIP_RUNTIME rocclr)
set(HIP_PLATFORM amd)
set(hip_HIPCC_EXECUTABLE ${hip_HOME}/bin/hipcc)
if(NOT TARGET hip::amdhip64)
  add_library(hip::amdhip64 SHARED IMPORTED)
  set_target_properties(hip::amdhip64 PROPERTIES
    IMPORTED_LOCATION ${hip_HOME}/lib/libamdhip64.so.6
    IMPORTED_SONAME libamdhip64.so.6
    INTERFACE_INCLUDE_DIRECTORIES ${hip_INCLUDE_DIR}
    INTERFACE_SYSTEM_INCLUDE_DIRECTORIES ${hip_INCLUDE_DIR})
  add_library(hip::host INTERFACE IMPORTED)
  set_target_properties(hip::host PROPERTIES
    INTERFACE_LINK_LIBRARIES hip::amdhip64
    INTERFACE_COMPILE_DEFINITIONS __HIP_PLATFORM_AMD__=1)
  # HIP sources are compiled by CMake's language HIP, which brings the rest.
  add_library(hip::device INTERFACE IMPORTED)
  set_target_properties(hip::device PROPERTIES INTERFACE_LINK_LIBRARIES hip::host)
endif()
