# Puts files into a program. Included by the project it offers troupe_embed_files; run as a script (-DINPUTS, -DOUTPUT,
# -DHEADER, -DNAMESPACE, -DFUNCTION) it writes the source.

# troupe_embed_files(target HEADER h NAMESPACE n FUNCTION f FILES files...): defines `f`, declared in the header, which
# returns the files as a span of Asset {name, contentType, etag, bytes}.
function(troupe_embed_files target)
  cmake_parse_arguments(ARG "" "HEADER;NAMESPACE;FUNCTION" "FILES" ${ARGN})
  set(output ${CMAKE_BINARY_DIR}/embedded/${ARG_FUNCTION}.cpp)
  string(REPLACE ";" "|" inputs "${ARG_FILES}")
  add_custom_command(OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DINPUTS=${inputs}" -DOUTPUT=${output} -DHEADER=${ARG_HEADER}
      -DNAMESPACE=${ARG_NAMESPACE} -DFUNCTION=${ARG_FUNCTION} -P ${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake
    DEPENDS ${ARG_FILES} ${PROJECT_SOURCE_DIR}/cmake/EmbedFiles.cmake
    COMMENT "Embedding files: ${ARG_FUNCTION}" VERBATIM)
  target_sources(${target} PRIVATE ${output})
endfunction()

if(NOT CMAKE_SCRIPT_MODE_FILE)
  return()
endif()

set(type_html "text/html; charset=utf-8")
set(type_css "text/css; charset=utf-8")
set(type_js "text/javascript; charset=utf-8")
set(type_json "application/json; charset=utf-8")
set(type_svg "image/svg+xml")
set(arrays "")
set(rows "")
set(number 0)
string(REPLACE "|" ";" inputs "${INPUTS}")
foreach(input IN LISTS inputs)
  get_filename_component(name ${input} NAME)
  get_filename_component(extension ${input} LAST_EXT)
  string(SUBSTRING ${extension} 1 -1 extension)
  file(READ ${input} bytes HEX)
  file(SHA256 ${input} sum)
  string(SUBSTRING ${sum} 0 16 sum)
  string(LENGTH "${bytes}" size)
  math(EXPR size "${size} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND arrays "constexpr unsigned char kFile${number}[] = {${bytes}0};\n")
  string(APPEND rows "    {\"${name}\", \"${type_${extension}}\", \"\\\"${sum}\\\"\", text(kFile${number}, ${size})},\n")
  math(EXPR number "${number} + 1")
endforeach()
file(WRITE ${OUTPUT} "// Generated; do not edit.
#include \"${HEADER}\"

namespace ${NAMESPACE} {
namespace {
${arrays}
std::string_view text(const unsigned char* bytes, size_t size) { return {reinterpret_cast<const char*>(bytes), size}; }
}  // namespace

std::span<const Asset> ${FUNCTION}() {
  static const Asset kAssets[] = {
${rows}  };
  return kAssets;
}

}  // namespace ${NAMESPACE}
")
