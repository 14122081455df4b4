# How a room becomes a library and how its tests are found.
add_compile_options(-Wall -Wextra -Werror=return-type -Wno-unused-parameter -fvisibility=hidden -ffunction-sections -fdata-sections
                    -ffp-contract=off)
add_link_options(-fuse-ld=lld -Wl,--gc-sections)
if(TANDEM_SANITIZE)
  add_compile_options(-fsanitize=address,undefined -fno-sanitize=vptr,function -fno-omit-frame-pointer -g1)
  add_link_options(-fsanitize=address,undefined)
endif()
if(TANDEM_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link,address,undefined -fno-sanitize=vptr,function)
  add_link_options(-fsanitize=address,undefined)
endif()
include_directories(${CMAKE_SOURCE_DIR} ${CMAKE_SOURCE_DIR}/include ${CMAKE_BINARY_DIR})
find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime ${CCACHE})
  set(CMAKE_PCH_INSTANTIATE_TEMPLATES ON)
endif()
find_package(GTest REQUIRED)
find_package(nlohmann_json REQUIRED)

# A first build takes half the time when a room's files are compiled some at a time, and each change after it takes longer.
option(TANDEM_UNITY "compile the files of a room together, eight at a time" OFF)

file(WRITE ${CMAKE_BINARY_DIR}/unity.txt "")  # what is compiled together, for test/unity.py

# tandem_room(NAME SOURCES a.cpp ... LINK other_room ... [MLIR] [ALONE b.cpp ...])
# NAME becomes the static library tandem_NAME; MLIR rooms share precompiled headers (StaticMLIR.cmake). ALONE names sources whose local
# names clash with those of other sources of the room, so that TANDEM_UNITY compiles them by themselves.
function(tandem_room name)
  cmake_parse_arguments(R "MLIR" "" "SOURCES;LINK;ALONE" ${ARGN})
  add_library(tandem_${name} STATIC ${R_SOURCES})
  set_target_properties(tandem_${name} PROPERTIES UNITY_BUILD ${TANDEM_UNITY} UNITY_BUILD_BATCH_SIZE 8)
  if(R_ALONE)
    set_source_files_properties(${R_ALONE} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
  file(APPEND ${CMAKE_BINARY_DIR}/unity.txt "${CMAKE_CURRENT_SOURCE_DIR}|${R_SOURCES}|${R_ALONE}\n")
  list(TRANSFORM R_LINK PREPEND tandem_ REGEX "^[a-z_]+$")
  target_link_libraries(tandem_${name} PUBLIC ${R_LINK})
  if(R_MLIR)
    tandem_use_mlir(tandem_${name})
  endif()
endfunction()

# tandem_label(NAME ...): `make test ROOM=compiler/layout` finds tests by this label, their room's folder.
function(tandem_label)
  file(RELATIVE_PATH room ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR})
  set_property(TEST ${ARGN} APPEND PROPERTY LABELS ${room})
endfunction()

# tandem_test(NAME SOURCES a_test.cpp ... LINK room ... [MLIR]): one GoogleTest program, one ctest entry.
function(tandem_test name)
  cmake_parse_arguments(T "MLIR" "" "SOURCES;LINK" ${ARGN})
  add_executable(tandem_${name}_test ${T_SOURCES})
  list(TRANSFORM T_LINK PREPEND tandem_ REGEX "^[a-z_]+$")
  target_link_libraries(tandem_${name}_test PRIVATE ${T_LINK} GTest::gtest GTest::gtest_main)
  if(T_MLIR)
    tandem_use_mlir(tandem_${name}_test)
  endif()
  target_compile_definitions(tandem_${name}_test PRIVATE TANDEM_SOURCE_DIR="${CMAKE_SOURCE_DIR}")
  add_test(NAME ${name} COMMAND tandem_${name}_test --gtest_brief=1)
  tandem_label(${name})
endfunction()
