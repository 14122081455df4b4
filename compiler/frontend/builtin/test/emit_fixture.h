// A function to emit into, with one argument of each type that tests ask for.
#pragma once
#include "compiler/frontend/builtin/rows.h"
#include <gtest/gtest.h>
#include <mlir/Dialect/Arith/IR/Arith.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/Dialect/Math/IR/Math.h>
#include <mlir/Dialect/SCF/IR/SCF.h>
#include <mlir/IR/Verifier.h>

namespace tandem::frontend {

class EmitTest : public testing::Test {
 protected:
  EmitTest() : c(mlir_, options_) {
    mlir_.loadDialect<mlir::arith::ArithDialect, mlir::func::FuncDialect, mlir::math::MathDialect,
                      mlir::scf::SCFDialect, tile::TileDialect, dist::DistDialect, simt::SimtDialect>();
    auto file = std::make_shared<SourceFile>();
    file->name = "kernel.py";
    file->text = "kernel\n";
    c.place = {file, {1, 1, 1, 7}, "kernel", nullptr};
    module_ = mlir::ModuleOp::create(mlir::UnknownLoc::get(&mlir_));
    c.builder.setInsertionPointToStart(module_->getBody());
    function_ = mlir::func::FuncOp::create(c.builder, c.loc(), "f", c.builder.getFunctionType({}, {}));
    c.builder.setInsertionPointToStart(function_.addEntryBlock());
  }

  Value argument(DType dtype, std::vector<int64_t> shape = {}) {
    Type type{dtype, shape};
    return Tensor{function_.getBody().front().addArgument(type.toMLIR(&mlir_), c.loc()), type};
  }
  Value pointer(Scalar element) { return argument(DType{element, 1}); }

  Value call(const std::string& name, std::vector<Value> positional = {}, std::map<std::string, Value> keywords = {}) {
    const Builtin* row = findBuiltin(name);
    if (!row) throw std::runtime_error("no row " + name);
    return row->emit(c, frontend::bind(c, *row, positional, keywords));
  }

  // The kind of the error the call fails with; its message is in `message`.
  std::string failure(const std::string& name, std::vector<Value> positional = {},
                      std::map<std::string, Value> keywords = {}) {
    try {
      call(name, std::move(positional), std::move(keywords));
    } catch (const CompileError& error) {
      message = error.diagnostic.message;
      return error.diagnostic.kind;
    }
    return "no error";
  }

  // The names of the ops emitted so far but for constants and splats, after verification.
  std::vector<std::string> ops() {
    mlir::OpBuilder::InsertionGuard guard(c.builder);
    auto& block = function_.getBody().front();
    auto end = mlir::func::ReturnOp::create(c.builder, c.loc());
    function_.setFunctionType(c.builder.getFunctionType(block.getArgumentTypes(), {}));
    EXPECT_TRUE(mlir::succeeded(mlir::verify(*module_)));
    std::vector<std::string> names;
    for (mlir::Operation& op : block)
      if (std::string name = op.getName().getStringRef().str();
          name != "arith.constant" && name != "tile.splat" && name != "func.return")
        names.push_back(name);
    end->erase();
    return names;
  }
  bool emitted(const std::string& name) {
    std::vector<std::string> names = ops();
    return std::find(names.begin(), names.end(), name) != names.end();
  }
  mlir::Operation* last() { return &function_.getBody().front().back(); }

  CompileOptions options_;
  mlir::MLIRContext mlir_;
  mlir::OwningOpRef<mlir::ModuleOp> module_;
  mlir::func::FuncOp function_;
  Context c;
  std::string message;
};

using Names = std::vector<std::string>;

}  // namespace tandem::frontend
