# Everything comes from Debian packages (./dev deps). One interface target a room names what that room may link: a
# library that is not listed for a room is not linked into it. Installed as part of the CMake package, too.
if(TARGET troupe_libs_messaging)
  return()
endif()
find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
enable_language(C)  # Cap'n Proto looks for libatomic with a check that only C passes
find_package(CapnProto CONFIG REQUIRED)
find_package(bson-1.0 CONFIG REQUIRED)
find_package(PkgConfig REQUIRED)
pkg_check_modules(ICU REQUIRED IMPORTED_TARGET icu-uc icu-i18n)
pkg_check_modules(PCRE2 REQUIRED IMPORTED_TARGET libpcre2-8)
pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)
pkg_check_modules(YAML REQUIRED IMPORTED_TARGET yaml-cpp)
find_library(SNAPPY_LIBRARY snappy REQUIRED)
find_library(DECIMAL_LIBRARY bidgcc000 REQUIRED)  # libintelrdfpmath-dev
find_library(WIREDTIGER_LIBRARY wiredtiger REQUIRED)
find_library(CAF_CORE_LIBRARY caf_core REQUIRED)
find_library(PROMETHEUS_CORE_LIBRARY prometheus-cpp-core REQUIRED)
find_library(BOOST_SERIALIZATION_LIBRARY boost_serialization REQUIRED)

add_library(troupe_libs_messaging INTERFACE IMPORTED GLOBAL)
target_compile_definitions(troupe_libs_messaging INTERFACE SPDLOG_COMPILED_LIB SPDLOG_FMT_EXTERNAL)
target_link_libraries(troupe_libs_messaging INTERFACE Threads::Threads OpenSSL::SSL OpenSSL::Crypto ZLIB::ZLIB
  PkgConfig::ZSTD ${SNAPPY_LIBRARY} ${DECIMAL_LIBRARY} PkgConfig::ICU CapnProto::capnp mongo::bson_shared spdlog fmt ${BOOST_SERIALIZATION_LIBRARY})

add_library(troupe_libs_storage INTERFACE IMPORTED GLOBAL)
target_link_libraries(troupe_libs_storage INTERFACE ${WIREDTIGER_LIBRARY} PkgConfig::PCRE2)

add_library(troupe_libs_state_machines INTERFACE IMPORTED GLOBAL)

add_library(troupe_libs_actors INTERFACE IMPORTED GLOBAL)
target_link_libraries(troupe_libs_actors INTERFACE ${CAF_CORE_LIBRARY})

add_library(troupe_libs_supervisors INTERFACE IMPORTED GLOBAL)
target_link_libraries(troupe_libs_supervisors INTERFACE PkgConfig::YAML ${PROMETHEUS_CORE_LIBRARY})
