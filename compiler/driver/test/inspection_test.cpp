// The IR behind each pass as files, and how failures of passes come back.
#include "compiler/driver/compilation.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/inspection.h"
#include "compiler/pipeline/pipeline.h"
#include <csignal>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Pass/Pass.h>
#include <regex>
#include <sstream>

namespace tandem::compiler {
namespace {
namespace fs = std::filesystem;

const std::string kRequest =
    R"({"kernel": "1", "functions": {"1": {"kind": "jit", "name": "fill", "file": "k.py", "line": 1,
  "source": "@jit\ndef fill(x):\n    tl.static_print('once')\n    tl.store(x, 1.0)\n", "globals": {"tl": {"module": "triton.language"}}}},
  "arguments": [{"name": "x", "type": "*fp32"}]})";

enum class Fault { Signal, Fatal, Silent, BrokenIr, UsersError };

struct Fail : mlir::PassWrapper<Fail, mlir::OperationPass<mlir::func::FuncOp>> {
  explicit Fail(Fault fault) : fault(fault) {}
  llvm::StringRef getArgument() const override { return "fail"; }

  void runOnOperation() override {
    if (fault == Fault::Signal) raise(SIGSEGV);
    if (fault == Fault::Fatal) llvm::report_fatal_error("no more");
    if (fault == Fault::UsersError) getOperation().emitError() << "not on this GPU";
    if (fault == Fault::Silent || fault == Fault::UsersError) return signalPassFailure();
    mlir::Block& body = getOperation().getBody().front();
    body.back().erase();
  }
  Fault fault;
};

std::string contentsOf(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

Diagnostic failBy(Fault fault) {
  std::vector<Diagnostic> found = guarded(kRequest, [&](Compilation& c) {
    c.emit();
    c.run([&](mlir::OpPassManager& passes) {
      pipeline::addSimPasses(passes);
      passes.addPass(std::make_unique<Fail>(fault));
    });
    c.lower();
  });
  EXPECT_EQ(found.size(), 1u);
  return found.empty() ? Diagnostic() : found[0];
}

class Folder {
 public:
  Folder() : path(fs::path(testing::TempDir()) / "tandem_dump") {
    fs::remove_all(path);
    setenv("TANDEM_DUMP", path.c_str(), 1);
  }
  ~Folder() {
    unsetenv("TANDEM_DUMP");
    fs::remove_all(path);
  }
  fs::path path;
};

TEST(Inspection, EveryPassLeavesAFile) {
  Folder folder;
  for (const char* name : {"fill.1", "fill.2"}) {
    EXPECT_TRUE(compileToProgram(kRequest).program) << compileToProgram(kRequest).error;
    EXPECT_NE(contentsOf(folder.path / name / "00-emit.mlir").find("tile.store"), std::string::npos);
    EXPECT_TRUE(fs::exists(folder.path / name / "01-canonicalize.mlir"));
    std::string last = contentsOf(folder.path / name / "02-cse.mlir");
    EXPECT_TRUE(std::regex_search(last, std::regex("^// cse: [0-9]+\\.[0-9]{3} ms\n"))) << last;
    EXPECT_NE(last.find("tile.store"), std::string::npos);
  }
}

TEST(Inspection, AFolderThatCannotBeMadeIsAnError) {
  setenv("TANDEM_DUMP", "/dev/null/x", 1);
  std::string error = compileToProgram(kRequest).error;
  unsetenv("TANDEM_DUMP");
  EXPECT_NE(error.find("cannot write `/dev/null/x`, which TANDEM_DUMP asks for"), std::string::npos) << error;
}

TEST(Inspection, AnInternalFailureNamesThePassAndAFileThatShowsItAgain) {
  Folder folder;
  static int printed = 0;
  setStaticPrinter([](const std::string&) { ++printed; });
  for (auto [fault, what] : {std::pair(Fault::Signal, "it crashed"),
                             {Fault::Fatal, "no more"},
                             {Fault::Silent, "it failed without saying why"},
                             {Fault::BrokenIr, "it left IR that does not verify"}}) {
    Diagnostic d = failBy(fault);
    EXPECT_EQ(d.kind, "internal");
    EXPECT_NE(d.message.find(std::string("the compiler failed in `fail`: ") + what), std::string::npos) << d.message;
    std::smatch path;
    ASSERT_TRUE(std::regex_search(d.message, path, std::regex("tandem-opt --run-reproducer (\\S+)`"))) << d.message;
    std::string text = contentsOf(path[1].str());
    EXPECT_NE(text.find("tile.store"), std::string::npos) << text;
    EXPECT_TRUE(std::regex_search(
        text, std::regex("pipeline: \"builtin.module\\(func.func\\(canonicalize\\{[^\n]*fail\\)\\)\"")))
        << text;
  }
  EXPECT_EQ(printed, 4);  // emitting the kernel again prints nothing
}

TEST(Inspection, WhatAPassRefusesIsTheUsersError) {
  Diagnostic d = failBy(Fault::UsersError);
  EXPECT_EQ(d.kind, "invalid-op");
  EXPECT_EQ(d.message, "not on this GPU");
  EXPECT_EQ(d.range.line, 2);
}

TEST(Inspection, LaterCompilationsAreAsBefore) {
  std::string expected = emit(kRequest, "tile-opt").text;
  failBy(Fault::Signal);
  EXPECT_EQ(emit(kRequest, "tile-opt").text, expected);
}

}  // namespace
}  // namespace tandem::compiler
