# One static library a room, from every source file below its folder; programs and tests on top of them.

set(TROUPE_ROOMS messaging storage state_machines actors supervisors)  # lowest first
find_library(JEMALLOC_LIBRARY jemalloc REQUIRED)  # of programs

option(TROUPE_UNITY "Compile the sources of a folder a few at a time" ON)

# troupe_unite(target most sources...): what the sources of a folder include is read once for up to `most` of them: four
# halve the time of a clean build. So names in unnamed namespaces must differ within a folder.
function(troupe_unite target most)
  if(NOT TROUPE_UNITY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
  target_compile_options(${target} PRIVATE -Wno-subobject-linkage)  # g++ takes the united sources for headers
  foreach(source IN LISTS ARGN)
    cmake_path(GET source PARENT_PATH folder)
    cmake_path(RELATIVE_PATH folder BASE_DIRECTORY ${PROJECT_SOURCE_DIR})
    string(MAKE_C_IDENTIFIER "${folder}" folder)
    list(APPEND folders ${folder})
    list(APPEND sources_${folder} ${source})
  endforeach()
  list(REMOVE_DUPLICATES folders)
  foreach(folder IN LISTS folders)
    list(LENGTH sources_${folder} count)
    math(EXPR groups "(${count} + ${most} - 1) / ${most}")
    set(index 0)
    foreach(source IN LISTS sources_${folder})
      math(EXPR group "${index} * ${groups} / ${count}")
      math(EXPR index "${index} + 1")
      set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${folder}_${group})
    endforeach()
  endforeach()
endfunction()

# troupe_precompile(target): the standard headers that most files include, read once for all rooms. The tidy test sees to it
# that each header includes what it uses of them nevertheless.
function(troupe_precompile target)
  if(TARGET troupe_messaging AND NOT target STREQUAL troupe_messaging)
    target_precompile_headers(${target} REUSE_FROM troupe_messaging)
    return()
  endif()
  target_precompile_headers(${target} PRIVATE <algorithm> <atomic> <chrono> <coroutine> <deque> <functional> <map> <memory>
    <mutex> <optional> <set> <span> <stdexcept> <string> <string_view> <unordered_map> <utility> <variant> <vector>)
endfunction()

# troupe_room(name LINK targets... [WITHOUT folder]): the library troupe_<name>. Cap'n Proto schemas below the folder are compiled with it.
function(troupe_room name)
  cmake_parse_arguments(ARG "" "WITHOUT" "LINK" ${ARGN})
  set(root ${PROJECT_SOURCE_DIR}/${name})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${root}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "/main\\.cpp$")
  if(ARG_WITHOUT)
    list(FILTER sources EXCLUDE REGEX "/${ARG_WITHOUT}/")
  endif()
  file(GLOB_RECURSE schemas CONFIGURE_DEPENDS ${root}/*.capnp)
  if(NOT sources)
    file(CONFIGURE OUTPUT ${TROUPE_GENERATED_DIR}/${name}_room.cpp CONTENT "")
    set(sources ${TROUPE_GENERATED_DIR}/${name}_room.cpp)
  endif()
  troupe_schemas(schema_sources OUTPUT ${TROUPE_GENERATED_DIR} ${schemas})
  add_library(troupe_${name} STATIC ${sources} ${schema_sources})
  set_target_properties(troupe_${name} PROPERTIES EXPORT_NAME ${name})
  target_compile_features(troupe_${name} PUBLIC cxx_std_20)
  target_include_directories(troupe_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<BUILD_INTERFACE:${TROUPE_GENERATED_DIR}>
    $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/troupe>)
  target_link_libraries(troupe_${name} PUBLIC ${ARG_LINK})
  troupe_precompile(troupe_${name})
  troupe_unite(troupe_${name} 4 ${sources})
endfunction()

# troupe_program(name main.cpp library): a program in build/bin. jemalloc serves its allocations, except under
# a sanitizer, which has an allocator of its own.
function(troupe_program name main library)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${main})
    add_executable(${name} ${PROJECT_SOURCE_DIR}/${main})
    target_link_libraries(${name} PRIVATE ${library})
    if(TROUPE_SANITIZE)
      target_sources(${name} PRIVATE ${PROJECT_SOURCE_DIR}/test/sanitizer_options.cpp)
    elseif(NOT TROUPE_FUZZ)
      target_link_libraries(${name} PRIVATE ${JEMALLOC_LIBRARY})
    endif()
  endif()
endfunction()

# troupe_keep_threaded(list): for ThreadSanitizer only the tests that start threads: those that include <thread>, or make
# a node with some.
function(troupe_keep_threaded list)
  set(kept "")
  foreach(source IN LISTS ${list})
    file(STRINGS ${source} found REGEX "#include <thread>|[.]threads = " LIMIT_COUNT 1)
    if(found)
      list(APPEND kept ${source})
    endif()
  endforeach()
  set(${list} ${kept} PARENT_SCOPE)
endfunction()

# troupe_tests(name DIR folder LINK targets...): one GoogleTest program from every *_test.cpp below the folder, with the
# schemas there.
function(troupe_tests name)
  cmake_parse_arguments(ARG "" "DIR" "LINK" ${ARGN})
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${ARG_DIR}/*_test.cpp)
  if(TROUPE_SANITIZE STREQUAL "thread")
    troupe_keep_threaded(sources)
  endif()
  if(NOT sources)
    return()
  endif()
  file(GLOB_RECURSE schemas CONFIGURE_DEPENDS ${ARG_DIR}/*.capnp)
  troupe_schemas(schema_sources OUTPUT ${CMAKE_BINARY_DIR}/generated_tests ${schemas})
  if(TROUPE_SANITIZE)
    set(options ${PROJECT_SOURCE_DIR}/test/sanitizer_options.cpp)
    set_source_files_properties(${options} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
  endif()
  add_executable(${name} ${sources} ${schema_sources} ${options})
  target_include_directories(${name} PRIVATE ${CMAKE_BINARY_DIR}/generated_tests)
  target_link_libraries(${name} PRIVATE ${ARG_LINK} rapidcheck GTest::gmock GTest::gtest_main)
  if(NOT TROUPE_SANITIZE AND NOT CMAKE_BUILD_TYPE STREQUAL "Debug")
    target_compile_options(${name} PRIVATE -O1)  # a quarter of the time to compile is saved; what they test is in the rooms
  endif()
  get_property(first GLOBAL PROPERTY TROUPE_FIRST_TESTS)  # precompiles headers for all
  if(first)
    target_precompile_headers(${name} REUSE_FROM ${first})
  else()
    target_precompile_headers(${name} PRIVATE <functional> <memory> <string> <vector> <gmock/gmock.h> <gtest/gtest.h>)
    set_property(GLOBAL PROPERTY TROUPE_FIRST_TESTS ${name})
  endif()
  # What tests include takes longer to read than they do: eight at once take two thirds of the time of twice four.
  troupe_unite(${name} 8 ${sources})
  add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(${name} PROPERTIES TIMEOUT 600 LABELS unit
    ENVIRONMENT "RC_PARAMS=max_success=1000")
endfunction()

# troupe_test_library(name LINK targets...): the library troupe_<name> of what authors of protocols test with, from every source in
# test/<name> itself that is no test; installed with its headers, where it is Troupe::<name>.
function(troupe_test_library name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  set(folder ${PROJECT_SOURCE_DIR}/test/${name})
  file(GLOB sources CONFIGURE_DEPENDS ${folder}/*.cpp)
  list(FILTER sources EXCLUDE REGEX "_test\\.cpp$")
  add_library(troupe_${name} STATIC ${sources})
  set_target_properties(troupe_${name} PROPERTIES EXPORT_NAME ${name})
  target_include_directories(troupe_${name} PUBLIC
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/troupe>)
  target_link_libraries(troupe_${name} PUBLIC ${ARG_LINK})
  troupe_unite(troupe_${name} 4 ${sources})
  install(TARGETS troupe_${name} EXPORT TroupeTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  file(GLOB headers CONFIGURE_DEPENDS ${folder}/*.hpp)
  install(FILES ${headers} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/troupe/test/${name} COMPONENT development)
endfunction()

# troupe_highest_room(source result): the library of the highest room that the source includes headers from, so that a
# program is built without the rooms it does not need.
function(troupe_highest_room source result)
  file(READ ${source} text)
  set(highest messaging)
  foreach(room IN LISTS TROUPE_ROOMS)
    if(text MATCHES "#include \"${room}/")
      set(highest ${room})
    endif()
  endforeach()
  set(${result} troupe_${highest} PARENT_SCOPE)
endfunction()

# troupe_programs_of(pattern group LINK targets...): one program from every source that matches, each with the rooms it
# includes; the target <group> builds them all.
function(troupe_programs_of pattern group)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${pattern})
  add_custom_target(${group})
  foreach(source IN LISTS sources)
    get_filename_component(name ${source} NAME_WE)
    troupe_highest_room(${source} room)
    add_executable(${name} EXCLUDE_FROM_ALL ${source})
    target_link_libraries(${name} PRIVATE ${room} ${ARG_LINK})
    add_dependencies(${group} ${name})
  endforeach()
endfunction()
