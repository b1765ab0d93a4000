# Device code: which compilers there are, which architectures they know, one code object for each
# architecture and file of kernels/, and a source that embeds them all. No ROCm is needed: the
# kernels bring their own declarations, and any clang from 20 on knows both architectures.

set(mla_amd_flags -x hip --cuda-device-only -nogpuinc -nogpulib --no-gpu-bundle-output
  -std=c++20 -fno-strict-aliasing -Wall -Wextra -Werror -Wno-pass-failed
  -I${PROJECT_SOURCE_DIR})
set(mla_kernels ${PROJECT_SOURCE_DIR}/hip_backend/kernels)
set(mla_code_units decode expand planner prefill reduce)
set(mla_amd_units ${mla_code_units} assumptions)
set(mla_nvidia_flags -x cu -std=c++20 -O3 -cubin -I${PROJECT_SOURCE_DIR})

# Whether `compiler` makes a code object for `arch`; the reason why not in `why`.
function(mla_probe_amd compiler arch works why)
  set(probe ${CMAKE_CURRENT_BINARY_DIR}/probe_${arch})
  execute_process(
    COMMAND ${compiler} ${mla_amd_flags} -O3 --offload-arch=${arch}
            -c ${mla_kernels}/probe.hip -o ${probe}.co
    RESULT_VARIABLE failed ERROR_VARIABLE text OUTPUT_QUIET)
  string(REGEX MATCH "[^\n]*error:[^\n]*" line "${text}")
  if(failed)
    set(${works} FALSE PARENT_SCOPE)
    set(${why} "${compiler}: ${line}" PARENT_SCOPE)
  else()
    set(${works} TRUE PARENT_SCOPE)
  endif()
endfunction()

macro(mla_add_code_object arch unit file)
  list(APPEND mla_code_object_files ${file})
  string(MAKE_C_IDENTIFIER "mla_code_${arch}_${unit}" symbol)
  string(APPEND embed_lines "MLA_EMBED(${symbol}, \"${file}\")\n")
  string(APPEND table_lines
    "      {\"${arch}\", \"${unit}\", ${symbol}_begin, ${symbol}_end},\n")
endmacro()

# One code object for `arch`, by the compiler that the probe found, at one level of optimisation.
macro(mla_amd_code_object arch unit level)
  set(file ${CMAKE_CURRENT_BINARY_DIR}/${arch}_${unit}_O${level}.co)
  add_custom_command(OUTPUT ${file}
    COMMAND ${MLA_DEVICE_CLANG} ${mla_amd_flags} -O${level} --offload-arch=${arch}
            -Xclang -dependency-file -Xclang ${file}.d -Xclang -MT -Xclang ${file}
            -c ${mla_kernels}/${unit}.hip -o ${file}
    DEPENDS ${mla_kernels}/${unit}.hip
    DEPFILE ${file}.d
    COMMENT "Device code ${unit} for ${arch} at -O${level}" VERBATIM)
  mla_add_code_object(${arch} ${unit} ${file})
endmacro()

macro(mla_begin_code_objects)
  set(mla_code_object_files)
  set(embed_lines)
  set(table_lines)
endmacro()

macro(mla_end_code_objects source)
  configure_file(${PROJECT_SOURCE_DIR}/hip_backend/kernels/code_objects.cpp.in ${source} @ONLY)
  # An object of its own: who links another source of code objects must get nothing of this one.
  set_source_files_properties(${source} PROPERTIES
    OBJECT_DEPENDS "${mla_code_object_files}" SKIP_UNITY_BUILD_INCLUSION ON)
endmacro()

# The AMD kernels again, at another level: a source that stands in for code_objects.cpp.
macro(mla_device_code_at level source)
  mla_begin_code_objects()
  set(build_notes "kernels at -O${level}")
  get_property(architectures GLOBAL PROPERTY MLA_DEVICE_ARCHITECTURES)
  foreach(arch ${architectures})
    foreach(unit ${mla_code_units})
      mla_amd_code_object(${arch} ${unit} ${level})
    endforeach()
  endforeach()
  mla_end_code_objects(${source})
endmacro()

# Makes code_objects.cpp in the binary directory, and says which architectures there are.
macro(mla_device_code)
  mla_begin_code_objects()
  set(build_notes)
  if(NOT HIP_BACKEND STREQUAL OFF)
    find_program(MLA_DEVICE_CLANG
      NAMES clang++-24 clang++-23 clang++-22 clang++-21 clang++-20 amdclang++
      HINTS $ENV{ROCM_PATH}/llvm/bin /opt/rocm/llvm/bin
      DOC "A clang that knows gfx942 and gfx950")
  endif()
  foreach(arch gfx942 gfx950)
    if(HIP_BACKEND STREQUAL OFF)
      string(APPEND build_notes "${arch}: HIP_BACKEND is OFF. ")
      continue()
    endif()
    set(works FALSE)
    set(why "no clang++ from 20 on (Debian: clang-22, lld-22) and no ROCm")
    if(MLA_DEVICE_CLANG)
      mla_probe_amd(${MLA_DEVICE_CLANG} ${arch} works why)
    endif()
    if(NOT works)
      if(HIP_BACKEND STREQUAL ON)
        message(FATAL_ERROR "HIP_BACKEND is ON and there is no compiler for ${arch}: ${why}")
      endif()
      message(STATUS "HIP backend: no code for ${arch}: ${why}")
      string(REPLACE "\"" "'" why "${why}")
      string(APPEND build_notes "${arch}: ${why}. ")
      continue()
    endif()
    message(STATUS "HIP backend: code for ${arch} by ${MLA_DEVICE_CLANG}")
    set_property(GLOBAL APPEND PROPERTY MLA_DEVICE_ARCHITECTURES ${arch})
    foreach(unit ${mla_amd_units})
      mla_amd_code_object(${arch} ${unit} 3)
    endforeach()
  endforeach()
  if(HIP_BACKEND_NVIDIA)
    find_program(MLA_NVCC NAMES nvcc HINTS /usr/local/cuda/bin REQUIRED)
    message(STATUS "HIP backend: code for sm_90 by ${MLA_NVCC}")
    foreach(unit ${mla_code_units})
      set(file ${CMAKE_CURRENT_BINARY_DIR}/sm_90_${unit}.cubin)
      add_custom_command(OUTPUT ${file}
        COMMAND ${MLA_NVCC} ${mla_nvidia_flags} -arch=sm_90 -MD -MF ${file}.d -MT ${file}
                ${mla_kernels}/${unit}.hip -o ${file}
        DEPENDS ${mla_kernels}/${unit}.hip
        DEPFILE ${file}.d
        COMMENT "Device code ${unit} for sm_90" VERBATIM)
      mla_add_code_object(sm_90 ${unit} ${file})
    endforeach()
  endif()
  mla_end_code_objects(${CMAKE_CURRENT_BINARY_DIR}/code_objects.cpp)
endmacro()
