# What `cmake --install` puts where, and the Debian packages made of it: `troupe` (component server) and
# `troupe-dev` (component development).
include(CMakePackageConfigHelpers)

# Programs, the systemd unit, documents.
foreach(program trouped troupe troupe-sim)
  if(TARGET ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT server)
  endif()
endforeach()
install(FILES README.md CHANGELOG.md packaging/trouped.yaml DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT server)
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright COMPONENT server)
install(DIRECTORY test/simulation/scenarios DESTINATION ${CMAKE_INSTALL_DATADIR}/troupe COMPONENT server)
install(DIRECTORY packaging/monitoring DESTINATION ${CMAKE_INSTALL_DATADIR}/troupe COMPONENT server)
install(DIRECTORY docs/operators DESTINATION ${CMAKE_INSTALL_DOCDIR} COMPONENT server)
# Manual pages and completion are made by the programs, so that they list what --help lists.
function(troupe_describe_program program section)
  set(manual ${CMAKE_BINARY_DIR}/packaging/man/${program}.${section})
  set(completion ${CMAKE_BINARY_DIR}/packaging/completions/${program})
  set(template ${PROJECT_SOURCE_DIR}/packaging/man/${program}.${section}.in)
  set(script ${PROJECT_SOURCE_DIR}/cmake/DescribeProgram.cmake)
  add_custom_command(OUTPUT ${manual} ${completion}
    COMMAND ${CMAKE_COMMAND} -DPROGRAM=$<TARGET_FILE:${program}> -DTEMPLATE=${template} -DMANUAL=${manual}
      -DCOMPLETION=${completion} -P ${script}
    DEPENDS ${program} ${template} ${script} COMMENT "Describing ${program}" VERBATIM)
  add_custom_target(describe_${program} ALL DEPENDS ${manual} ${completion})
  install(FILES ${manual} DESTINATION ${CMAKE_INSTALL_MANDIR}/man${section} COMPONENT server)
  install(FILES ${completion} DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT server)
endfunction()
if(TARGET trouped)
  troupe_describe_program(trouped 8)
endif()
if(TARGET troupe)
  troupe_describe_program(troupe 1)
endif()
install(FILES packaging/trouped.service DESTINATION lib/systemd/system COMPONENT server)

# Headers, libraries and the CMake package for those who build on Troupe.
set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/Troupe)
foreach(room IN LISTS TROUPE_ROOMS)
  install(TARGETS troupe_${room} EXPORT TroupeTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
  install(DIRECTORY ${room} DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/troupe COMPONENT development
    FILES_MATCHING PATTERN "*.hpp" PATTERN "*.inc" PATTERN "*.capnp")
endforeach()
install(DIRECTORY ${TROUPE_GENERATED_DIR}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/troupe COMPONENT development
  FILES_MATCHING PATTERN "*.hpp" PATTERN "*.capnp.h" PATTERN "*.inc")
install(EXPORT TroupeTargets NAMESPACE Troupe:: DESTINATION ${package_dir} COMPONENT development)
configure_package_config_file(cmake/TroupeConfig.cmake.in ${CMAKE_BINARY_DIR}/TroupeConfig.cmake
  INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/TroupeConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/TroupeConfig.cmake ${CMAKE_BINARY_DIR}/TroupeConfigVersion.cmake
  DESTINATION ${package_dir} COMPONENT development)
install(FILES cmake/Dependencies.cmake DESTINATION ${package_dir} RENAME TroupeDependencies.cmake COMPONENT development)
# CPack strips programs; debug information of static libraries would be most of the package.
install(CODE [[
  if(CMAKE_INSTALL_DO_STRIP)
    file(GLOB archives "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib*/libtroupe_*.a")
    execute_process(COMMAND strip --strip-debug ${archives} COMMAND_ERROR_IS_FATAL ANY)
  endif()
]] COMPONENT development)
set(development_doc_dir ${CMAKE_INSTALL_DATADIR}/doc/troupe-dev)
install(FILES docs/extending.md docs/testing-protocols.md DESTINATION ${development_doc_dir} COMPONENT development)
install(FILES LICENSE DESTINATION ${development_doc_dir} RENAME copyright COMPONENT development)
install(DIRECTORY examples/named_lease DESTINATION ${development_doc_dir}/examples COMPONENT development)

# The Debian packages. The configuration file belongs to the package only, hence its absolute place.
install(FILES packaging/trouped.yaml DESTINATION /etc COMPONENT server EXCLUDE_FROM_ALL)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME troupe)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_CONTACT "The Troupe authors <troupe@localhost>")
set(CPACK_PACKAGE_HOMEPAGE_URL "")
set(CPACK_PACKAGE_FILE_NAME troupe-${PROJECT_VERSION})
set(CPACK_SET_DESTDIR ON)
set(CPACK_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL server development)
set(CPACK_COMPONENTS_GROUPING ONE_PER_GROUP)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_SERVER_PACKAGE_NAME troupe)
set(CPACK_DEBIAN_SERVER_PACKAGE_SECTION database)
set(CPACK_DEBIAN_SERVER_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_SERVER_PACKAGE_DEPENDS "adduser")
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_EXTRA
  "${PROJECT_SOURCE_DIR}/packaging/debian/postinst;${PROJECT_SOURCE_DIR}/packaging/debian/prerm;${PROJECT_SOURCE_DIR}/packaging/debian/postrm;${PROJECT_SOURCE_DIR}/packaging/debian/conffiles")
set(CPACK_DEBIAN_SERVER_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME troupe-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS
  "capnproto, pkg-config, libcaf-dev, libcapnp-dev, libwiredtiger-dev, libboost-dev, libboost-serialization-dev, libspdlog-dev, libfmt-dev, libbson-dev, libicu-dev, libintelrdfpmath-dev, libpcre2-dev, libsnappy-dev, libzstd-dev, zlib1g-dev, libssl-dev, libyaml-cpp-dev, prometheus-cpp-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_RECOMMENDS "cmake, g++, libgtest-dev, ninja-build")
set(CPACK_COMPONENT_SERVER_DESCRIPTION
  "clustered document database that speaks the MongoDB wire protocol\n Every part of the server is a supervised actor that can be watched while it works.")
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "headers and libraries to extend the Troupe document database")
include(CPack)
