# Generates error_codes.hpp (the ErrorCode enum) and error_table.inc (number, name, meaning) from error_codes.txt,
# the one place where errors are listed.
function(troupe_generate_error_codes input output_dir)
  file(STRINGS ${input} lines REGEX "^[0-9]+\\|")
  set(enumerators "")
  set(rows "")
  foreach(line IN LISTS lines)
    string(REGEX MATCH "^([0-9]+)\\|([*]?)([A-Za-z0-9]+)\\|(.*)$" matched "${line}")
    if(NOT matched)
      message(FATAL_ERROR "${input}: cannot read the line '${line}': expected number|Name|meaning")
    endif()
    set(number ${CMAKE_MATCH_1})
    set(own ${CMAKE_MATCH_2})
    set(name ${CMAKE_MATCH_3})
    set(meaning "${CMAKE_MATCH_4}")
    string(APPEND enumerators "  k${name} = ${number},  ///< ${meaning}\n")
    if(own)
      set(name Location${number})
    endif()
    string(APPEND rows "{${number}, \"${name}\", \"${meaning}\"},\n")
  endforeach()
  file(CONFIGURE OUTPUT ${output_dir}/messaging/errors/error_codes.hpp CONTENT
"// Generated from messaging/errors/error_codes.txt; do not edit.
#pragma once
#include <cstdint>

namespace troupe {

/// Every error the server can answer with; numbers and names are the ones drivers know.
enum class ErrorCode : int32_t {
${enumerators}};

}  // namespace troupe
" @ONLY)
  file(CONFIGURE OUTPUT ${output_dir}/messaging/errors/error_table.inc CONTENT "${rows}" @ONLY)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${input})
endfunction()
