# How a folder of text tests (lit, FileCheck) becomes one ctest entry.

# tandem_lit_test(NAME DIR [SUFFIXES .mlir .py ...]): runs every test below DIR; a file's `RUN:` lines say how.
# The programs of tools/ and LLVM's FileCheck, not and split-file are on the tests' PATH.
function(tandem_lit_test name dir)
  cmake_parse_arguments(L "" "" "SUFFIXES" ${ARGN})
  if(NOT L_SUFFIXES)
    set(L_SUFFIXES .mlir .test)
  endif()
  get_filename_component(TANDEM_LIT_SOURCE ${dir} ABSOLUTE)
  set(TANDEM_LIT_NAME ${name})
  set(TANDEM_LIT_EXEC ${CMAKE_BINARY_DIR}/lit/${name})
  set(TANDEM_LIT_TOOLS ${CMAKE_BINARY_DIR}/tools)
  list(JOIN L_SUFFIXES "', '" TANDEM_LIT_SUFFIXES)
  configure_file(${CMAKE_SOURCE_DIR}/test/lit.site.cfg.py.in ${TANDEM_LIT_EXEC}/lit.site.cfg.py @ONLY)
  add_test(NAME ${name} COMMAND ${LLVM_TOOLS_BINARY_DIR}/lit -sv ${TANDEM_LIT_EXEC})
  tandem_label(${name})
endfunction()
