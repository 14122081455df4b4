// tandemc: compiles one kernel of a file and prints what a stage of the compiler makes of it.
#include "compiler/driver/compile.h"
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>

namespace {

constexpr const char* kExamples = R"(Examples:
  The operations of the only kernel in a file:
    tandemc add.py --signature '*fp32, *fp32, *fp32, i32' --constexpr 'BLOCK=1024'
  One kernel of several, types given by parameter name:
    tandemc gemm.py:matmul_kernel --signature 'a=*fp16, b=*fp16, c=*fp16, M=i32, N=i32, K=i32' --constexpr 'BM=128, BN=128, BK=64'
  The syntax tree, to see how the text was read:
    tandemc add.py --emit=ast --signature '*fp32, *fp32, *fp32, i32' --constexpr 'BLOCK=1024'
  The simulator's program, into a file:
    tandemc add.py --emit=sim --signature '*fp32, *fp32, *fp32, i32' --constexpr 'BLOCK=1024' -o add.sim
  Types: i1 i8 i16 i32 i64 u8 u16 u32 u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5, *T for a pointer, tensordesc<fp16[64, 32]>.
Exit codes: 0 done, 1 the kernel has an error, 2 the command line has one.)";

// "k.py:f" names a kernel; a lone colon inside a path (no identifier after it) does not.
std::pair<std::string, std::string> splitKernel(const std::string& argument) {
  size_t colon = argument.rfind(':');
  if (colon == std::string::npos || argument.find('/', colon) != std::string::npos) return {argument, ""};
  return {argument.substr(0, colon), argument.substr(colon + 1)};
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("Compiles a Triton-syntax kernel and prints a stage of the compilation.");
  app.footer(kExamples);
  std::string input, stage = "tile", signature, constexprs, output;
  int numWarps = 4;
  app.add_option("FILE.py[:kernel]", input, "the file, and the kernel when the file has several")->required();
  app.add_option("--emit", stage, "what to print")->check(CLI::IsMember({"ast", "tile", "tile-opt", "sim"}))->capture_default_str();
  app.add_option("--signature", signature, "types of the parameters: '*fp16, i32' or 'x=*fp16, n=i32'");
  app.add_option("--constexpr", constexprs, "values of the constexpr parameters: 'BLOCK=128, FLAG=True'");
  app.add_option("--num-warps", numWarps, "warps of a program, a power of two")->capture_default_str();
  app.add_option("-o", output, "where to write; the standard output otherwise");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  auto [path, kernel] = splitKernel(input);
  tandem::compiler::Emitted request = tandem::compiler::requestForFile(path, kernel, signature, constexprs, numWarps);
  if (!request.error.empty()) {
    std::cerr << request.error;
    return 2;
  }
  tandem::compiler::Emitted result = tandem::compiler::emit(request.text, stage);
  if (!result.error.empty()) {
    std::cerr << result.error;
    return 1;
  }
  if (output.empty()) {
    std::cout << result.text;
    return 0;
  }
  std::ofstream out(output, std::ios::binary);
  out << result.text;
  out.close();
  if (!out) {
    std::cerr << "error: cannot write `" << output << "`\n";
    return 2;
  }
  return 0;
}
