# The source is the tree that this port is a part of.
get_filename_component(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../../.." ABSOLUTE)

vcpkg_check_features(OUT_FEATURE_OPTIONS FEATURE_OPTIONS
    FEATURES
        cache       KINFORMER_CACHE
        checks      KINFORMER_CHECKS
        controllers KINFORMER_CONTROLLERS
        discovery   KINFORMER_DISCOVERY
        exec        KINFORMER_EXEC
        kubeconfig  KINFORMER_KUBECONFIG
        proxy       KINFORMER_PROXY
        requests    KINFORMER_REQUESTS
        toolkit     KINFORMER_TOOLKIT
        tools       KINFORMER_TOOLS
        zlib        KINFORMER_ZLIB
        zstd        KINFORMER_ZSTD
)
# The library finds its dependencies with pkg-config.
vcpkg_find_acquire_program(PKGCONFIG)

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        ${FEATURE_OPTIONS}
        -DKINFORMER_INSTALL=ON
        -DKINFORMER_CMAKE_DIR=share/kinformer
        "-DPKG_CONFIG_EXECUTABLE=${PKGCONFIG}"
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH share/kinformer)
vcpkg_fixup_pkgconfig()
if("tools" IN_LIST FEATURES)
    vcpkg_copy_tools(TOOL_NAMES kinformer kin-apisim AUTO_CLEAN)
endif()
file(REMOVE_RECURSE
    "${CURRENT_PACKAGES_DIR}/debug/include"
    "${CURRENT_PACKAGES_DIR}/debug/share"
)

vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
