# hk_layer_sources(OUT layer): the .c files of one layer, tests left out.
function(hk_layer_sources out layer)
    file(GLOB_RECURSE found CONFIGURE_DEPENDS src/${layer}/*.c)
    list(FILTER found EXCLUDE REGEX "_test\\.c$")
    if(NOT CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
        list(FILTER found EXCLUDE REGEX "/kernels/x86/")
    endif()
    set(${out} ${found} PARENT_SCOPE)
endfunction()

# hk_kernel_flags(): the only files with ISA flags are src/kernels/x86/NAME_<isa>.c.
function(hk_kernel_flags)
    # With sanitizers the unrolled lanes cost gcc minutes at -O3 and when it tracks variables (gcc 12: 92 s for one file
    # at -O3, 26 s at -O1). The bytes do not depend on the level.
    set(level -O3)
    set(lean "")
    if(HALKA_SANITIZE)
        set(level -O1)
        set(lean $<$<C_COMPILER_ID:GNU>:-fno-var-tracking>)
    endif()
    file(GLOB files src/kernels/x86/*_avx2.c)
    set_source_files_properties(${files} PROPERTIES COMPILE_OPTIONS "${level};-mavx2;-mfma;-mf16c;${lean}")
    file(GLOB files src/kernels/x86/*_avx512.c)
    set_source_files_properties(${files} PROPERTIES COMPILE_OPTIONS
        "${level};-mavx512f;-mavx512bw;-mavx512dq;-mavx512vl;-mfma;-mf16c;-mprefer-vector-width=512;${lean}")
    file(GLOB files src/kernels/c/*.c)
    set_source_files_properties(${files} PROPERTIES COMPILE_OPTIONS "${level};${lean}")
endfunction()

# hk_feature(NAME pkg-config-name debian-package): an optional library; its absence is a clear error at run time, not at build time.
function(hk_feature name package debian)
    option(${name} "Use ${package} (Debian: ${debian})" ON)
    if(${name} AND PKG_CONFIG_FOUND)
        pkg_check_modules(${name}_PC QUIET IMPORTED_TARGET ${package})
        if(${name}_PC_FOUND)
            target_link_libraries(halka PRIVATE PkgConfig::${name}_PC)
            target_compile_definitions(halka PRIVATE ${name}=1)
        else()
            message(STATUS "halka: without ${package} (install ${debian})")
        endif()
    endif()
endfunction()

# hk_test_program(name sources...): a program that links the library and may see its inner headers.
function(hk_test_program name)
    add_executable(${name} ${ARGN})
    target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/tests)
    target_compile_definitions(${name} PRIVATE _GNU_SOURCE HALKA_VERSION="${PROJECT_VERSION}"
        TEST_SOURCE_DIR="${PROJECT_SOURCE_DIR}" TEST_BINARY_DIR="${CMAKE_CURRENT_BINARY_DIR}")
    target_link_libraries(${name} PRIVATE halka)
endfunction()

# hk_test(name sources...): a test program, and the test that runs it.
function(hk_test name)
    hk_test_program(${name} ${ARGN})
    add_test(NAME ${name} COMMAND ${name})
    set_tests_properties(${name} PROPERTIES TIMEOUT 900
        ENVIRONMENT "ASAN_OPTIONS=allocator_may_return_null=1") # huge requests fail, as they do without the sanitizer
endfunction()
