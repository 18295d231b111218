# Cap'n Proto schemas of messages: of the rooms, of tests, and, installed as part of the CMake package, of those who build
# on Troupe. TROUPE_SCHEMA_ROOT is where imports like "/messaging/schemas/envelope.capnp" are looked for.

# troupe_schemas(result OUTPUT folder [PREFIX folder] schemas...): compiles them; the sources go into <result>. Headers lie
# below OUTPUT as the schemas do below PREFIX (the project's root if it isn't given).
function(troupe_schemas result)
  cmake_parse_arguments(ARG "" "OUTPUT;PREFIX" "" ${ARGN})
  if(NOT ARG_PREFIX)
    set(ARG_PREFIX ${TROUPE_SCHEMA_ROOT})
  endif()
  set(CAPNPC_SRC_PREFIX ${ARG_PREFIX})
  set(CAPNPC_OUTPUT_DIR ${ARG_OUTPUT})
  set(CAPNPC_IMPORT_DIRS ${TROUPE_SCHEMA_ROOT})
  set(schema_sources)
  if(ARG_UNPARSED_ARGUMENTS)
    file(MAKE_DIRECTORY ${CAPNPC_OUTPUT_DIR})
    capnp_generate_cpp(schema_sources schema_headers ${ARG_UNPARSED_ARGUMENTS})
    set_source_files_properties(${schema_sources} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  endif()
  set(${result} ${schema_sources} PARENT_SCOPE)
endfunction()

# troupe_add_messages(target schemas...): compiles schemas of the current folder into the target. Whoever links it includes
# their headers as "<schema>.capnp.h".
function(troupe_add_messages target)
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${target}_messages)
  troupe_schemas(sources OUTPUT ${output} PREFIX ${CMAKE_CURRENT_SOURCE_DIR} ${ARGN})
  target_sources(${target} PRIVATE ${sources})
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${output}>)
  target_link_libraries(${target} PUBLIC CapnProto::capnp)
endfunction()
