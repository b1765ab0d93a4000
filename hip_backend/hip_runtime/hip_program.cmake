# Adds `source` (HIP, host and device in one file) to `target`, compiled for one architecture. Clang
# makes the device's half first, as a code object; the host's half embeds it. Further arguments go to
# both. No ROCm is needed: hip/hip_runtime.h stands here.
function(mla_hip_source target arch source)
  get_filename_component(name ${source} NAME_WE)
  set(object ${CMAKE_CURRENT_BINARY_DIR}/${target}_${name}_${arch})
  set(flags -x hip -nogpuinc -nogpulib --offload-arch=${arch} -std=c++20
    -I${PROJECT_SOURCE_DIR} -I${PROJECT_SOURCE_DIR}/hip_backend/hip_runtime ${ARGN})
  add_custom_command(OUTPUT ${object}.co ${object}.o
    COMMAND ${MLA_DEVICE_CLANG} ${flags} -O2 --cuda-device-only --no-gpu-bundle-output
            -c ${source} -o ${object}.co
    COMMAND ${MLA_DEVICE_CLANG} ${flags} -O1 -fPIE --cuda-host-only
            -Xclang -fcuda-include-gpubinary -Xclang ${object}.co
            -MD -MF ${object}.d -c ${source} -o ${object}.o
    DEPENDS ${source} DEPFILE ${object}.d
    COMMENT "HIP program ${name} for ${arch}" VERBATIM)
  target_sources(${target} PRIVATE ${object}.o)
  set_source_files_properties(${object}.o PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)
endfunction()
