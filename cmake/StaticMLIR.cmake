# MLIR 22 from Debian's packages, linked statically.
# Debian builds MLIR against the LLVM dylib, so each exported static target carries "LLVM" (libLLVM.so) in its link
# interface and a static link would silently hold LLVM twice. The imported targets are rewired here.
find_package(MLIR 22.1 REQUIRED CONFIG PATHS /usr/lib/llvm-22/lib/cmake/mlir NO_DEFAULT_PATH)
get_filename_component(MLIR_TABLEGEN_EXE ${MLIR_CMAKE_DIR}/../../../bin/mlir-tblgen ABSOLUTE)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)

add_library(tandem_llvm_static INTERFACE)
llvm_map_components_to_libnames(_llvm_libs Support Core Analysis)
target_link_libraries(tandem_llvm_static INTERFACE ${_llvm_libs})
foreach(t ${MLIR_EXPORTED_TARGETS})
  if(TARGET ${t})
    get_target_property(libs ${t} INTERFACE_LINK_LIBRARIES)
    if(libs)
      list(TRANSFORM libs REPLACE "^LLVM$" "tandem_llvm_static")
      list(TRANSFORM libs REPLACE "LINK_ONLY:LLVM>" "LINK_ONLY:tandem_llvm_static>")
      list(REMOVE_ITEM libs MLIR)
      set_target_properties(${t} PROPERTIES INTERFACE_LINK_LIBRARIES "${libs}")
    endif()
  endif()
endforeach()
# LLVMSupport's export names libz3.so, ZLIB::ZLIB and zstd::libzstd_shared; nothing we link refers to Z3.
find_library(TANDEM_LIBZ NAMES libz.a REQUIRED)
find_library(TANDEM_LIBZSTD NAMES libzstd.a REQUIRED)
set_target_properties(LLVMSupport PROPERTIES INTERFACE_LINK_LIBRARIES "LLVMDemangle;rt;dl;m;${TANDEM_LIBZ};${TANDEM_LIBZSTD}")
set_target_properties(LLVMExtensions PROPERTIES INTERFACE_LINK_LIBRARIES "LLVMSupport")

add_library(tandem_mlir_headers INTERFACE)
target_include_directories(tandem_mlir_headers SYSTEM INTERFACE ${LLVM_INCLUDE_DIRS} ${MLIR_INCLUDE_DIRS})
if(NOT LLVM_ENABLE_RTTI)
  target_compile_options(tandem_mlir_headers INTERFACE -fno-rtti)
endif()

# Rooms of MLIR share a precompiled header: the dialects and the rooms below them one of MLIR's headers, the rooms above the
# dialects one that holds the dialects' headers too. tandem_precompile(NAME HEADERS header ...) makes one.
file(WRITE ${CMAKE_BINARY_DIR}/mlir_pch.cpp.in "// Only here to own the precompiled header.\n")
configure_file(${CMAKE_BINARY_DIR}/mlir_pch.cpp.in ${CMAKE_BINARY_DIR}/mlir_pch.cpp COPYONLY)
function(tandem_precompile name)
  add_library(${name} OBJECT ${CMAKE_BINARY_DIR}/mlir_pch.cpp)
  target_link_libraries(${name} PUBLIC tandem_mlir_headers)
  target_compile_options(${name} PRIVATE -Xclang -fno-pch-timestamp)
  target_precompile_headers(${name} PRIVATE ${ARGN})
endfunction()
set(TANDEM_MLIR_HEADERS
  <mlir/Bytecode/BytecodeOpInterface.h> <mlir/IR/Builders.h> <mlir/IR/BuiltinOps.h> <mlir/IR/BuiltinTypes.h>
  <mlir/IR/DialectImplementation.h> <mlir/IR/OpImplementation.h> <mlir/IR/PatternMatch.h>
  <mlir/Interfaces/InferTypeOpInterface.h> <mlir/Interfaces/SideEffectInterfaces.h> <mlir/Dialect/Arith/IR/Arith.h>
  <mlir/Dialect/Func/IR/FuncOps.h> <mlir/Dialect/Math/IR/Math.h> <mlir/Dialect/SCF/IR/SCF.h> <mlir/Pass/Pass.h>
  <mlir/Parser/Parser.h> <llvm/ADT/TypeSwitch.h> <llvm/Support/FormatVariadic.h> <map> <string> <variant> <vector> <functional>)
tandem_precompile(tandem_mlir_pch ${TANDEM_MLIR_HEADERS})

function(tandem_use_mlir target)
  target_link_libraries(${target} PUBLIC tandem_mlir_headers)
  target_compile_options(${target} PRIVATE -Xclang -fno-pch-timestamp)
  # An executable's -fPIE does not match the precompiled header's -fPIC.
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
    target_compile_options(${target} PRIVATE -fPIC)
  endif()
  if(TARGET tandem_dialect_pch)  # compiler/dialect has been added
    target_precompile_headers(${target} REUSE_FROM tandem_dialect_pch)
  else()
    target_precompile_headers(${target} REUSE_FROM tandem_mlir_pch)
  endif()
endfunction()

# The NVPTX back end and what leads to it; a library of its own, so that only what links it pays at link time.
llvm_map_components_to_libnames(_nvptx_libs NVPTXCodeGen NVPTXDesc NVPTXInfo Passes IPO TransformUtils Analysis Linker IRReader BitReader
                                Target TargetParser MC CodeGen AsmPrinter Core Support)
add_library(tandem_llvm_nvptx INTERFACE)
target_link_libraries(tandem_llvm_nvptx INTERFACE ${_nvptx_libs})
