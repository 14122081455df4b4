// Builds a kernel by a function, looks for instructions in its PTX, and has ptxas assemble it.
#pragma once
#include "compiler/codegen/nvidia/asm/asm.h"
#include "compiler/codegen/nvidia/test/build.h"

namespace tandem::codegen::test {

using namespace ptx;

template <class F>
std::string check(const char* target, F&& build, std::initializer_list<const char*> parts) {
  TestKernel k(target);
  build(k);
  std::string ptx = k.ptx();
  expectText(ptx, parts);
  assemble(ptx, k.target());
  return ptx;
}

}  // namespace tandem::codegen::test
