# Cap'n Proto schemas of the transport and of tests. TROUPE_SCHEMA_ROOT is where imports like
# "/messaging/schemas/envelope.capnp" are looked for.

# troupe_schemas(result OUTPUT folder schemas...): compiles them; the sources go into <result>. Headers lie below OUTPUT as
# the schemas do below TROUPE_SCHEMA_ROOT.
function(troupe_schemas result)
  cmake_parse_arguments(ARG "" "OUTPUT" "" ${ARGN})
  set(CAPNPC_SRC_PREFIX ${TROUPE_SCHEMA_ROOT})
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
