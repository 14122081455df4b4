// Files of IR, and the printer that tools have set.
#include "compiler/driver/inspection.h"
#include "compiler/driver/compilation.h"
#include "compiler/driver/compile.h"
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <llvm/Support/FormatVariadic.h>
#include <llvm/Support/raw_ostream.h>
#include <unistd.h>

namespace tandem::compiler {
namespace {
namespace fs = std::filesystem;

PassPrinter printer;

std::string dumpFolder() {
  const char* named = std::getenv("TANDEM_DUMP");
  return named ? named : "";
}

[[noreturn]] void cannotWrite(const fs::path& path) {
  throw CompileError(plainError("cannot-write", "cannot write `" + path.string() + "`, which TANDEM_DUMP asks for"));
}

// A folder that nothing has been written to.
fs::path newFolder(const fs::path& parent, const std::string& kernel) {
  std::error_code failed;
  fs::create_directories(parent, failed);
  for (int n = 1; !failed; ++n)
    if (fs::path folder = parent / (kernel + "." + std::to_string(n)); fs::create_directory(folder, failed))
      return folder;
  cannotWrite(parent);
}

std::string textOf(mlir::Operation* op) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  op->print(stream, mlir::OpPrintingFlags().useLocalScope());
  return text + "\n";
}

void writeFile(const fs::path& path, const std::string& text) {
  std::ofstream out(path);
  out << text;
  out.close();
  if (!out) cannotWrite(path);
}

}  // namespace

void setPassPrinter(PassPrinter print) { printer = std::move(print); }

pipeline::PassObserver passObserver(mlir::Operation* module, llvm::StringRef kernel) {
  std::string parent = dumpFolder();
  if (parent.empty() && !printer) return nullptr;
  fs::path folder = parent.empty() ? fs::path() : newFolder(parent, kernel.str());
  if (!parent.empty()) writeFile(folder / "00-emit.mlir", textOf(module));
  return [folder, count = 0](llvm::StringRef pass, mlir::Operation* op, double milliseconds) mutable {
    std::string text = llvm::formatv("// {0}: {1:f3} ms\n{2}", pass, milliseconds, textOf(op)).str();
    std::string number = std::to_string(100 + ++count).substr(1);
    if (!folder.empty()) writeFile(folder / (number + "-" + pass.str() + ".mlir"), text);
    if (printer) printer(pass.str(), text);
  };
}

std::string reproducerPath() {
  static std::atomic<int> count{0};
  std::error_code ignored;
  fs::path folder = dumpFolder().empty() ? fs::temp_directory_path(ignored) : fs::path(dumpFolder());
  fs::create_directories(folder, ignored);
  return (folder / ("tandem-" + std::to_string(getpid()) + "-" + std::to_string(count++) + ".mlir")).string();
}

}  // namespace tandem::compiler
