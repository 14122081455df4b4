// The command `tandemc`: it compiles one kernel of a file and prints the output of a stage of the compiler, or writes it out
// for a GPU.
#include "compiler/driver/command_line.h"
#include "compiler/driver/bundle.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/compile_image.h"
#include "compiler/driver/image_cache.h"
#include "compiler/driver/remark_file.h"
#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>

namespace tandem::compiler {
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
  A GPU's code, and the files a C or C++ program launches it with:
    tandemc add.py --emit=ptx --target sm_90a --signature '*fp32:16, *fp32:16, *fp32:16, i32' --constexpr 'BLOCK=1024'
    tandemc add.py --emit=bundle -o kernels --target sm_90a --signature '*fp32:16, *fp32:16, *fp32:16, i32' --constexpr 'BLOCK=1024'
  The IR behind each pass, or behind one; with TANDEM_DUMP=folder in the environment, any compilation writes it to files:
    tandemc add.py --emit=ptx --print-after=all --signature '*fp32:16, *fp32:16, *fp32:16, i32' --constexpr 'BLOCK=1024'
  Why a kernel is as quick or slow as it is: products, loads, conversions, registers; as text, and as a file for LLVM's tools:
    tandemc gemm.py --remarks --target sm_90a --signature '*fp16:16, *fp16:16, *fp32:16, i32:16'
    tandemc gemm.py --emit=remarks -o gemm.opt.yaml --target sm_90a --signature '*fp16:16, *fp16:16, *fp32:16, i32:16'
  Types: i1 i8 i16 i32 i64 u8 u16 u32 u64 fp16 bf16 fp32 fp64 fp8e4nv fp8e5, *T for a pointer, tensordesc<fp16[64, 32]>.
  `:16` after a pointer or an integer promises a multiple of 16, `i32:1` the value 1.
Exit codes: 0 done, 1 the kernel has an error, 2 the command line has one.)";

// "k.py:f" names a kernel; a lone colon inside a path (no identifier after it) does not.
std::pair<std::string, std::string> splitKernel(const std::string& argument) {
  size_t colon = argument.rfind(':');
  if (colon == std::string::npos || argument.find('/', colon) != std::string::npos) return {argument, ""};
  return {argument.substr(0, colon), argument.substr(colon + 1)};
}

struct GpuOptions {
  std::string target = "sm_90a";
  int numStages = 3, numCtas = 1, maxRegisters = 0;
  bool debug = false;
};

std::string withGpuOptions(const std::string& request, const GpuOptions& options) {
  nlohmann::json j = nlohmann::json::parse(request);
  j["options"]["target"] = options.target;
  j["options"]["num_stages"] = options.numStages;
  j["options"]["num_ctas"] = options.numCtas;
  if (options.debug) j["options"]["debug"] = true;
  if (options.maxRegisters) j["options"]["maxnreg"] = options.maxRegisters;
  return j.dump();
}

int cannotWrite(const std::string& path) {
  std::cerr << "error: cannot write `" << path << "`\n";
  return 2;
}

bool writeFile(const std::string& path, const std::string& text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  out.close();
  return bool(out);
}

// To the file, or to the standard output.
int put(const std::string& text, const std::string& output) {
  if (output.empty()) {
    if (std::cout << text << std::flush) return 0;
    std::cerr << "error: cannot write the standard output\n";
    return 2;
  }
  if (!writeFile(output, text)) return cannotWrite(output);
  return 0;
}

int putBundle(const Bundle& bundle, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder.empty() ? "." : folder, failed);
  std::string stem = (folder.empty() ? "" : folder + "/") + bundle.name;
  for (const auto& [suffix, text] :
       {std::pair{".tdimage", &bundle.image}, {".h", &bundle.header}, {".json", &bundle.metadata}})
    if (!writeFile(stem + suffix, *text)) return cannotWrite(stem + suffix);
  return 0;
}

// Prints the IR behind the pass of that name, or behind each, on the standard error.
struct PrintAfter {
  std::string pass;
  std::vector<std::string> ran{};

  void install() {
    setPassPrinter([this](const std::string& name, const std::string& text) {
      ran.push_back(name);
      if (pass == "all" || pass == name) std::cerr << text;
    });
  }
  // 2 where no pass of that name has run.
  int check() const {
    if (pass.empty() || pass == "all" || std::find(ran.begin(), ran.end(), pass) != ran.end()) return 0;
    std::cerr << "error: no pass `" << pass << "` has run; those that have are";
    for (const std::string& name : ran) std::cerr << " `" << name << '`';
    std::cerr << '\n';
    return 2;
  }
};

std::string textOf(const std::vector<tandem::abi::Remark>& remarks) {
  std::string text;
  for (const tandem::abi::Remark& remark : remarks) text += remark.text() + "\n";
  return text;
}

// `stage`: ptx, cubin, bundle, remarks, or empty, for nothing but the remarks' text. `remarks`: it goes to the standard
// error as well.
int emitForGpu(const std::string& request, const std::string& stage, const std::string& output, bool cached,
               bool remarks) {
  CompiledImage compiled = cached ? compileCached(request) : compileToImage(request);
  for (const tandem::Diagnostic& d : compiled.diagnostics) std::cerr << d.render();
  if (!compiled.image) return 1;
  if (stage.empty()) return put(textOf(compiled.image->remarks), output);
  if (remarks) std::cerr << textOf(compiled.image->remarks);
  if (stage == "remarks") return put(remarksAsYaml(*compiled.image), output);
  if (stage == "bundle") return putBundle(makeBundle(*compiled.image, request), output);
  if (stage == "cubin" && compiled.image->cubin.empty()) {
    std::cerr << "error: no ptxas was found, so there is PTX but no cubin; $TANDEM_PTXAS may name one\n";
    return 1;
  }
  return put(stage == "ptx" ? compiled.image->ptx : compiled.image->cubin, output);
}

}  // namespace

int runCommandLine(int argc, const char* const* argv) {
  CLI::App app("Compiles a Triton-syntax kernel and prints a stage of the compilation.");
  app.footer(kExamples);
  std::string input, stage = "tile", signature, constexprs, output;
  int numWarps = 4;
  app.add_option("FILE", input, "FILE.py, or FILE.py:kernel when the file has several kernels")->required();
  app.add_option("--emit", stage, "what to print")
      ->check(CLI::IsMember(
          {"ast", "tile", "tile-opt", "sim", "gpu", "layouts", "llvm", "ptx", "cubin", "bundle", "remarks"}))
      ->capture_default_str();
  app.add_option("--signature", signature, "types of the parameters: '*fp16, i32' or 'x=*fp16, n=i32'");
  app.add_option("--constexpr", constexprs, "values of the constexpr parameters: 'BLOCK=128, FLAG=True'")->join(',');
  app.add_option("--num-warps", numWarps, "warps of a program, a power of two")->capture_default_str();
  bool locations = false;
  app.add_flag("--locations", locations, "print the source place of each operation (with --emit=tile and tile-opt)");
  GpuOptions gpu;
  app.add_option("--target", gpu.target, "the GPU that ptx, cubin and bundle are for")->capture_default_str();
  app.add_option("--num-stages", gpu.numStages, "loads in flight in a pipelined loop")->capture_default_str();
  app.add_option("--num-ctas", gpu.numCtas, "thread blocks of a program's cluster")->capture_default_str();
  app.add_option("--maxnreg", gpu.maxRegisters, "a thread's registers at most");
  bool remarks = false;
  app.add_flag("--remarks", remarks,
               "print what was done for speed and what was not, and why; beside a GPU's code, on the standard error");
  PrintAfter printAfter;
  app.add_option("--print-after", printAfter.pass,
                 "print, on the standard error, the IR behind this pass or behind `all`, and its time");
  app.add_flag("--debug", gpu.debug, "keep device_assert");
  app.add_option("-o", output, "where to write (for a bundle: a folder); the standard output otherwise");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  setStaticPrinter([](const std::string& text) { std::cerr << text; });
  auto [path, kernel] = splitKernel(input);
  Emitted request = requestForFile(path, kernel, signature, constexprs, numWarps);
  if (!request.error.empty()) {
    std::cerr << request.error;
    return 2;
  }
  std::string text = withGpuOptions(request.text, gpu);
  if (!printAfter.pass.empty()) printAfter.install();
  if (remarks && app.count("--emit") == 0) stage.clear();
  if (stage.empty() || stage == "ptx" || stage == "cubin" || stage == "bundle" || stage == "remarks") {
    int failed = emitForGpu(text, stage, output, printAfter.pass.empty(), remarks);
    return failed ? failed : printAfter.check();
  }
  if (remarks) {
    std::cerr << "error: --remarks goes with --emit=ptx, cubin or bundle, or without --emit\n";
    return 2;
  }
  Emitted result = emit(text, stage, locations);
  std::cerr << result.error << result.warnings;
  if (!result.error.empty()) return 1;
  int failed = put(result.text, output);
  return failed ? failed : printAfter.check();
}

}  // namespace tandem::compiler
