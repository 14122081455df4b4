// A function under construction for the tests of this room: operands of any type, and the text of errors.
#pragma once
#include "compiler/frontend/semantic/fold.h"
#include "compiler/frontend/semantic/typed_op.h"
#include <gtest/gtest.h>
#include <mlir/Dialect/Func/IR/FuncOps.h>
#include <mlir/IR/Verifier.h>

namespace tandem::frontend::semantic {

class Kernel : public ::testing::Test {
 protected:
  Kernel() : context(mlir, options) {
    mlir.loadDialect<tile::TileDialect, simt::SimtDialect, mlir::arith::ArithDialect, mlir::math::MathDialect,
                     mlir::func::FuncDialect>();
    module = mlir::ModuleOp::create(mlir::UnknownLoc::get(&mlir));
    context.builder.setInsertionPointToEnd(module->getBody());
    auto function =
        mlir::func::FuncOp::create(context.builder, context.loc(), "k", context.builder.getFunctionType({}, {}));
    function.setPrivate();
    body = function.addEntryBlock();
    context.builder.setInsertionPointToEnd(body);
    auto file = std::make_shared<SourceFile>();
    file->name = "k.py";
    file->text = "x = y\n";
    context.place = {file, {1, 5, 1, 6}, "k", nullptr};
  }
  // Whatever a test made must satisfy the verifiers of the dialects.
  void TearDown() override {
    mlir::OpBuilder::InsertionGuard guard(context.builder);
    for (mlir::Operation& op : *body) EXPECT_TRUE(mlir::succeeded(mlir::verify(&op)));
  }

  // A tensor that comes from outside: arg("fp16", {64, 32}).
  Tensor arg(const std::string& dtype, std::vector<int64_t> shape = {}, uint32_t vectorLength = 0) {
    Type type{DType::parse(dtype).value(), std::move(shape), vectorLength};
    return {body->addArgument(type.toMLIR(&mlir), context.loc()), type};
  }
  // "2.5" is a number; "fp16[64]" and "fp16" are tensors.
  Value operand(const std::string& text) {
    if (text == "True") return true;
    if (std::isdigit(static_cast<unsigned char>(text[0])) || text[0] == '-')
      return text.find_first_of(".e") == std::string::npos ? Value(Int(std::stoll(text))) : Value(std::stod(text));
    size_t bracket = text.find('[');
    std::vector<int64_t> shape;
    for (size_t at = bracket; at < text.size() && text[at] != ']'; at = text.find_first_of(",]", at + 1))
      shape.push_back(std::stoll(text.substr(at + 1)));
    return arg(text.substr(0, bracket), shape);
  }
  template <class Make> std::string errorOf(Make make) {
    try {
      make();
    } catch (const CompileError& error) {
      return error.diagnostic.message;
    }
    return "accepted";
  }
  // Returns the type of the value that `make` returns, or its error.
  template <class Make> std::string outcome(Make make) {
    std::string type;
    std::string error = errorOf([&] {
      Value value = make();
      type = value.isTensor() ? value.as<Tensor>().type.name() : repr(value);
      if (value.isTensor()) EXPECT_EQ(value.as<Tensor>().value.getType(), value.as<Tensor>().type.toMLIR(&mlir));
    });
    return error == "accepted" ? type : error;
  }
  // Name of the op that made the value.
  std::string opOf(const Value& value) {
    mlir::Operation* op = value.as<Tensor>().value.getDefiningOp();
    return op ? op->getName().getStringRef().str() : "argument";
  }
  Value list(std::vector<Value> elements) { return makeTuple(std::move(elements)); }

  mlir::MLIRContext mlir;
  CompileOptions options;
  Context context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::Block* body = nullptr;
};

inline ast::BinaryOp binaryOp(const std::string& word) {
  for (int i = 0; i < 13; ++i)
    if (word == spelling(ast::BinaryOp(i))) return ast::BinaryOp(i);
  return ast::BinaryOp::Add;
}
inline ast::CompareOp compareOp(const std::string& word) {
  for (int i = 0; i < 10; ++i)
    if (word == spelling(ast::CompareOp(i))) return ast::CompareOp(i);
  return ast::CompareOp::Eq;
}

}  // namespace tandem::frontend::semantic
