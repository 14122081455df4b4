// Parses the text of one function; a test finds its values by the attribute `name` of their ops, or as the n-th
// argument.
#pragma once
#include "compiler/dialect/dist/dist.h"
#include "compiler/dialect/simt/simt.h"
#include "compiler/dialect/tgpu/tgpu.h"
#include "compiler/dialect/tile/tile.h"
#include <gtest/gtest.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/MLIRContext.h>
#include <mlir/Parser/Parser.h>

namespace tandem::analysis::test {

class Kernel {
 public:
  explicit Kernel(const std::string& text) {
    context_
        .loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::math::MathDialect, mlir::scf::SCFDialect,
                     tile::TileDialect, dist::DistDialect, simt::SimtDialect, tgpu::TgpuDialect>();
    module_ = mlir::parseSourceString<mlir::ModuleOp>(text, mlir::ParserConfig(&context_), "k.mlir");
    if (!module_) throw std::runtime_error("the test's text does not parse:\n" + text);
  }

  mlir::func::FuncOp function() { return *module_->getOps<mlir::func::FuncOp>().begin(); }
  mlir::Value argument(unsigned number) { return function().getArgument(number); }

  mlir::Value value(const std::string& name) {
    mlir::Value found;
    function().walk([&](mlir::Operation* op) {
      auto attribute = op->getAttrOfType<mlir::StringAttr>("name");
      if (attribute && attribute.getValue() == name) found = op->getResult(0);
    });
    if (!found) throw std::runtime_error("no op is named " + name);
    return found;
  }

  // The n-th op of a kind, in the order of the text.
  template <typename Op>
  Op nth(int n = 0) {
    Op found;
    function().walk<mlir::WalkOrder::PreOrder>([&](Op op) {
      if (n-- == 0) found = op;
    });
    if (!found) throw std::runtime_error("no such op");
    return found;
  }

 private:
  mlir::MLIRContext context_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
};

}  // namespace tandem::analysis::test
