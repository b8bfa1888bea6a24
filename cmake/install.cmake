# Installation: library, headers, command, pkg-config file, CMake package, man page, shell completions.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

install(TARGETS halka EXPORT halkaTargets ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
install(DIRECTORY include/halka DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.h")
install(EXPORT halkaTargets NAMESPACE halka:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/halka)

# The features in this build: a program that links the static library needs their libraries too.
set(HALKA_REQUIRES "")
set(HALKA_FIND_FEATURES "")
foreach(pair HALKA_ZLIB:zlib HALKA_JPEG:libjpeg HALKA_PNG:libpng)
    string(REPLACE ":" ";" pair ${pair})
    list(GET pair 0 feature)
    list(GET pair 1 package)
    if(${feature}_PC_FOUND)
        string(APPEND HALKA_REQUIRES " ${package}")
        string(APPEND HALKA_FIND_FEATURES "pkg_check_modules(${feature}_PC REQUIRED IMPORTED_TARGET ${package})\n")
    endif()
endforeach()
configure_package_config_file(cmake/halkaConfig.cmake.in ${PROJECT_BINARY_DIR}/halkaConfig.cmake
    INSTALL_DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/halka)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/halkaConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/halkaConfig.cmake ${PROJECT_BINARY_DIR}/halkaConfigVersion.cmake
    DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/halka)
configure_file(cmake/halka.pc.in ${PROJECT_BINARY_DIR}/halka.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/halka.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET halka_command)
    install(TARGETS halka_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
    install(FILES docs/halka.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
    if(NOT CMAKE_CROSSCOMPILING) # the command prints its own completions
        set(folder ${PROJECT_BINARY_DIR}/completions)
        file(MAKE_DIRECTORY ${folder})
        add_custom_command(OUTPUT ${folder}/halka ${folder}/_halka ${folder}/halka.fish
            COMMAND halka_command completion bash > ${folder}/halka
            COMMAND halka_command completion zsh > ${folder}/_halka
            COMMAND halka_command completion fish > ${folder}/halka.fish
            DEPENDS halka_command VERBATIM)
        add_custom_target(halka_completions ALL DEPENDS ${folder}/halka ${folder}/_halka ${folder}/halka.fish)
        install(FILES ${folder}/halka DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)
        install(FILES ${folder}/_halka DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions)
        install(FILES ${folder}/halka.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d)
    endif()
endif()
