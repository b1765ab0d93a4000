# Says what `pip install .` is about to do. pip keeps the output of a build to itself, unless it
# fails or -v is given, and prints "still running..." for minutes: the terminal gets the sentence too.
# The processor time is that of nine minutes on two cores (docs/use/start.md).
set(minutes 18)

cmake_host_system_information(RESULT cpus QUERY NUMBER_OF_LOGICAL_CORES)
find_program(MLA_NPROC nproc) # which knows of taskset and cpusets
mark_as_advanced(MLA_NPROC)
if(MLA_NPROC)
  execute_process(COMMAND ${CMAKE_COMMAND} -E env --unset=OMP_NUM_THREADS --unset=OMP_THREAD_LIMIT
                          ${MLA_NPROC}
                  OUTPUT_VARIABLE cpus OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if("$ENV{CMAKE_BUILD_PARALLEL_LEVEL}" MATCHES "^[1-9][0-9]*$"
   AND "$ENV{CMAKE_BUILD_PARALLEL_LEVEL}" LESS cpus)
  set(cpus $ENV{CMAKE_BUILD_PARALLEL_LEVEL})
endif()
math(EXPR here "(${minutes} + ${cpus} - 1) / ${cpus}")
set(said "mla-testbed: compiling takes about ${minutes} minutes of one CPU, about ${here} on ${cpus} \
as here, and 0.6 GB of memory for each. `pip install -v .` shows each step, \
CMAKE_BUILD_PARALLEL_LEVEL limits the CPUs.")
message(STATUS "${said}")
# Nothing to see without a terminal: no error.
execute_process(COMMAND sh -c "printf '\\n%s\\n' \"$1\" >/dev/tty" sh "${said}"
                OUTPUT_QUIET ERROR_QUIET)
