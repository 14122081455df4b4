// The tests of this room share this: it parses MLIR text and lowers its first function.
#pragma once
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/lower/sim/lower.h"
#include <gtest/gtest.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Verifier.h>
#include <mlir/Parser/Parser.h>

namespace tandem::lower::test {

class Source {
 public:
  explicit Source(const std::string& text) {
    context_.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::math::MathDialect,
                         mlir::scf::SCFDialect, tile::TileDialect, dist::DistDialect, simt::SimtDialect>();
    module = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context_), "k.mlir");
    auto file = std::make_shared<SourceFile>();
    file->name = "k.mlir";
    file->text = text;
    files.push_back(file);
  }
  mlir::func::FuncOp kernel() { return *module->getOps<mlir::func::FuncOp>().begin(); }
  std::shared_ptr<interpreter::Program> lower() { return lowerToProgram(kernel(), files); }

 private:
  mlir::MLIRContext context_;

 public:
  mlir::OwningOpRef<mlir::ModuleOp> module;
  std::vector<SourceFilePtr> files;
};

inline std::shared_ptr<interpreter::Program> lowered(const std::string& text) {
  Source source(text);
  if (!source.module) throw std::runtime_error("the test's text does not parse");
  return source.lower();
}

// The ops of the whole code, regions included, in order.
inline std::vector<interpreter::Op> opsOf(const interpreter::Program& p) {
  std::vector<interpreter::Op> ops;
  for (const interpreter::Instruction& i : p.code) ops.push_back(i.op);
  return ops;
}

// The n-th instruction that is `op`.
inline const interpreter::Instruction& find(const interpreter::Program& p, interpreter::Op op, int n = 0) {
  for (const interpreter::Instruction& i : p.code)
    if (i.op == op && n-- == 0) return i;
  throw std::runtime_error("no such instruction");
}
inline uint32_t pcOf(const interpreter::Program& p, const interpreter::Instruction& i) { return &i - p.code.data(); }
inline interpreter::Register plain(uint32_t operand) { return operand & ~interpreter::kLastUse; }
inline bool isLast(const interpreter::Program& p, const interpreter::Instruction& i, int operand) {
  return p.operands(i)[operand] & interpreter::kLastUse;
}
inline const interpreter::RegisterType& resultType(const interpreter::Program& p, const interpreter::Instruction& i) {
  return p.registers[p.results(i)[0]];
}

// The error of lowering `text`, which must fail.
inline Diagnostic errorOf(const std::string& text) {
  try {
    lowered(text);
  } catch (const CompileError& e) {
    return e.diagnostic;
  }
  ADD_FAILURE() << "lowering should have failed";
  return {};
}

}  // namespace tandem::lower::test
