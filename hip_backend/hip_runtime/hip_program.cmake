# Adds `source` (HIP, host and device in one file) to `target`, compiled for one architecture. Clang
# makes the device's half first, as a code object; the host's half embeds it. Further arguments go to
# both. No ROCm is needed: MlaTestbed::hip_runtime brings hip/hip_runtime.h.
function(mla_hip_source target arch source)
  if(NOT arch MATCHES "^gfx(942|950)$")
    message(FATAL_ERROR "mla_hip_source: architecture '${arch}' is none of gfx942 and gfx950")
  endif()
  find_program(MLA_DEVICE_CLANG
    NAMES clang++-24 clang++-23 clang++-22 clang++-21 clang++-20 amdclang++
    HINTS $ENV{ROCM_PATH}/llvm/bin /opt/rocm/llvm/bin
    DOC "A clang that knows gfx942 and gfx950")
  if(NOT MLA_DEVICE_CLANG)
    message(FATAL_ERROR "mla_hip_source: there is no clang++ from 20 on (Debian: clang-22, lld-22); "
                        "MLA_DEVICE_CLANG names one")
  endif()
  get_filename_component(source ${source} ABSOLUTE)
  get_filename_component(name ${source} NAME_WE)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${target}_${name}_${arch})
  set(headers $<TARGET_PROPERTY:MlaTestbed::hip_runtime,INTERFACE_INCLUDE_DIRECTORIES>)
  set(headers "-I$<JOIN:${headers},;-I>")
  set(flags -x hip -D__HIP_PLATFORM_AMD__=1 -nogpuinc -nogpulib --offload-arch=${arch} -std=c++20
      -include hip/device/first.h ${ARGN})
  add_custom_command(OUTPUT ${object}.co ${object}.o
    COMMAND ${MLA_DEVICE_CLANG} -O2 ${flags} "${headers}" --cuda-device-only --no-gpu-bundle-output
            -c ${source} -o ${object}.co
    COMMAND ${MLA_DEVICE_CLANG} -O1 ${flags} "${headers}" -fPIC --cuda-host-only
            -Xclang -fcuda-include-gpubinary -Xclang ${object}.co
            -MD -MF ${object}.d -c ${source} -o ${object}.o
    DEPENDS ${source} DEPFILE ${object}.d
    COMMENT "HIP program ${name} for ${arch}" VERBATIM COMMAND_EXPAND_LISTS)
  target_sources(${target} PRIVATE ${object}.o)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX)
  set_source_files_properties(${object}.o PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
endfunction()
