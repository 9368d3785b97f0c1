# QUIRE_ARCH_OPTION: what the kernels are compiled with for QUIRE_CPU_ARCH.
# QUIRE_INSTRUCTION_SET: its name and the vector extensions that it turns on.

set(QUIRE_ARCH_OPTION "")
if(QUIRE_CPU_ARCH)
  set(QUIRE_ARCH_OPTION "-march=${QUIRE_CPU_ARCH}")
endif()

execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${QUIRE_ARCH_OPTION} -Q --help=target
                OUTPUT_VARIABLE target_help ERROR_QUIET)
if(target_help MATCHES "-march=[ \t]+([^ \t\n]+)")
  set(QUIRE_INSTRUCTION_SET "${CMAKE_MATCH_1}")
else()
  set(QUIRE_INSTRUCTION_SET "${QUIRE_CPU_ARCH}")
endif()

execute_process(COMMAND ${CMAKE_CXX_COMPILER} ${QUIRE_ARCH_OPTION} -dM -E -x c++ /dev/null
                OUTPUT_VARIABLE macros RESULT_VARIABLE failed ERROR_VARIABLE why)
if(failed)
  message(FATAL_ERROR "QUIRE_CPU_ARCH=${QUIRE_CPU_ARCH}: the compiler does not take ${QUIRE_ARCH_OPTION}; "
                      "expected native, a processor's name, or nothing.\n${why}")
endif()
foreach(extension SSE4_2 AVX AVX2 FMA AVX512F AVX512BW AVX512VNNI AVX512BF16)
  if(macros MATCHES "#define __${extension}__ ")
    string(TOLOWER "${extension}" lower)
    string(REPLACE "_" "." lower "${lower}")
    string(APPEND QUIRE_INSTRUCTION_SET " ${lower}")
  endif()
endforeach()
