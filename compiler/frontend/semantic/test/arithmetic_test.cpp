// Promotion, operators, casts, broadcasting, subscripts and math on tensors.
#include "compiler/frontend/semantic/test/kernel.h"

namespace tandem::frontend::semantic {
namespace {

using Arithmetic = Kernel;

struct Row {
  const char *lhs, *op, *rhs, *result;
  const char* made = nullptr;
};

TEST_F(Arithmetic, OperatorsPromote) {
  const Row rows[] = {
      {"int32", "+", "1", "int32", "arith.addi"},
      {"int8[4]", "+", "1", "int8[4]", "arith.addi"},
      {"int8", "*", "int16", "int16", "arith.muli"},
      {"int32", "+", "uint32", "uint32"},
      {"int64", "+", "uint32", "int64"},
      {"int1", "+", "int1", "int1", "arith.addi"},
      {"int1", "+", "1", "int32"},
      {"int1", "+", "int8", "int8"},
      {"int32", "+", "2.5", "fp32"},
      {"int32", "-", "fp16", "fp16", "arith.subf"},
      {"int32", "+", "bf16", "fp32"},
      {"fp16", "+", "2.5", "fp16", "arith.addf"},
      {"fp16", "+", "1e300", "fp16"},
      {"fp16", "/", "2", "fp32", "arith.divf"},
      {"bf16", "%", "2.0", "fp32", "arith.remf"},
      {"fp16", "*", "bf16", "fp16", "arith.mulf"},
      {"bf16", "*", "bf16", "bf16"},
      {"fp16", "*", "fp32", "fp32"},
      {"fp64", "*", "fp16", "fp64"},
      {"fp8e5", "*", "fp8e5", "fp8e5", "tile.fp_to_fp"},
      {"fp8e5", "*", "fp8e4nv", "fp16", "arith.mulf"},
      {"int32", "/", "int32", "fp32", "arith.divf"},
      {"int32", "//", "int32", "int32", "arith.divsi"},
      {"uint32", "//", "uint32", "uint32", "arith.divui"},
      {"int32", "%", "7", "int32", "arith.remsi"},
      {"uint64", "%", "7", "uint64", "arith.remui"},
      {"int32", ">>", "1", "int32", "arith.shrsi"},
      {"uint32", ">>", "1", "uint32", "arith.shrui"},
      {"int32", ">>", "uint32", "uint32", "arith.shrsi"},
      {"uint8", ">>", "int32", "int32", "arith.shrui"},
      {"9", ">>", "int32", "int32", "arith.shrsi"},
      {"int32", "<<", "int64", "int64", "arith.shli"},
      {"int1[4]", "&", "int1[4]", "int1[4]", "arith.andi"},
      {"int1", "|", "True", "int1", "arith.ori"},
      {"2", "-", "fp16[8]", "fp16[8]", "arith.subf"},
      {"fp32[4, 1]", "+", "fp16[8]", "fp32[4, 8]", "arith.addf"},
      {"pointer<fp16>", "+", "int32[64]", "pointer<fp16>[64]", "tile.addptr"},
      {"4", "+", "pointer<fp16>", "pointer<fp16>", "tile.addptr"},
      {"pointer<int1>[8]", "+", "uint32[8]", "pointer<int1>[8]", "tile.addptr"},
      {"pointer<fp16>", "-", "int64", "pointer<fp16>", "tile.addptr"},
      {"pointer<fp16>", "-", "uint8", "pointer<fp16>", "tile.addptr"},
  };
  for (const Row& row : rows) {
    Value result;
    EXPECT_EQ(outcome([&] { return result = binary(context, binaryOp(row.op), operand(row.lhs), operand(row.rhs)); }),
              row.result)
        << row.lhs << " " << row.op << " " << row.rhs;
    if (row.made && result.isTensor()) EXPECT_EQ(opOf(result), row.made) << row.lhs << " " << row.op << " " << row.rhs;
  }
}

TEST_F(Arithmetic, OperatorsRefuse) {
  const Row rows[] = {
      {"int32", "//", "uint32",
       "cannot use /, // or % with `int32` and `uint32` because they have different signedness; this is unlikely "
       "to result in a useful answer. Cast them to the same signedness"},
      {"uint32", "+", "-1",
       "cannot combine a tensor of `uint32` with the negative number -1; cast one of them explicitly"},
      {"int8", "+", "300", "scalar 300 is out of range of `int8`"},
      {"fp16", "//", "fp16", "`//` is for integers, not for `fp16` tensor and `fp16` tensor; use `tl.floor(x / y)`"},
      {"fp16", "**", "2", "`**` is not defined on tensors; use `tl.exp2(y * tl.log2(x))` or `libdevice.pow(x, y)`"},
      {"fp16[16, 16]", "@", "fp16[16, 16]", "`@` is not defined on tensors; use `tl.dot(x, y)`"},
      {"fp32", "<<", "1", "unsupported operands of `<<`: `fp32` tensor and constexpr 1"},
      {"fp8e5", "+", "int32", "invalid operands of type `fp8e5` and `int32`"},
      {"fp8e4b15", "+", "fp8e4b15", "`fp8e4b15` is not supported"},
      {"pointer<fp16>", "+", "pointer<fp16>", "cannot add pointers: `pointer<fp16>` tensor and `pointer<fp16>` tensor"},
      {"pointer<fp16>", "+", "1.5", "a pointer moves by an integer number of elements, not by a `fp32` tensor"},
      {"pointer<fp16>", "*", "2", "invalid operands of type `pointer<fp16>` and `int32`"},
      {"3", "-", "pointer<fp16>", "invalid operands of type `pointer<fp16>` and `int32`"},
      {"fp32[64]", "+", "fp32[32]", "cannot make shapes compatible: [64] and [32] have sizes 64 and 32 in dimension 0"},
      {"fp32[64, 2]", "+", "fp32[4]",
       "cannot make shapes compatible: [64, 2] and [1, 4] have sizes 2 and 4 in dimension 1"},
      {"fp32[2048, 1]", "+", "fp32[1, 1024]", "`broadcast shape` [2048, 1024] has more than 1048576 elements"},
  };
  for (const Row& row : rows)
    EXPECT_EQ(outcome([&] { return binary(context, binaryOp(row.op), operand(row.lhs), operand(row.rhs)); }),
              row.result)
        << row.lhs << " " << row.op << " " << row.rhs;
  EXPECT_EQ(errorOf([&] { binary(context, ast::BinaryOp::Add, arg("int32"), std::string("a")); }),
            "unsupported operands of `+`: `int32` tensor and constexpr 'a'");
}

TEST_F(Arithmetic, ComparisonsGiveInt1) {
  const Row rows[] = {{"int32[4]", "<", "3", "int1[4]", "slt"}, {"uint32", ">=", "3", "int1", "uge"},
                      {"fp16", "!=", "2.0", "int1", "une"},     {"fp32", "==", "int32", "int1", "oeq"},
                      {"fp8e5", "<", "fp8e5", "int1", "olt"},   {"2", "<", "int64", "int1", "slt"}};
  for (const Row& row : rows) {
    Value result;
    EXPECT_EQ(outcome([&] { return result = compare(context, compareOp(row.op), operand(row.lhs), operand(row.rhs)); }),
              row.result);
    mlir::Operation* op = result.as<Tensor>().value.getDefiningOp();
    std::string predicate =
        mlir::isa<mlir::arith::CmpIOp>(op)
            ? mlir::arith::stringifyCmpIPredicate(mlir::cast<mlir::arith::CmpIOp>(op).getPredicate()).str()
            : mlir::arith::stringifyCmpFPredicate(mlir::cast<mlir::arith::CmpFOp>(op).getPredicate()).str();
    EXPECT_EQ(predicate, row.made) << row.lhs << row.op << row.rhs;
  }
  EXPECT_EQ(errorOf([&] { compare(context, ast::CompareOp::Eq, arg("int32"), None{}); }),
            "cannot compare a tensor with `None` by `==`; use `is None`");
  EXPECT_EQ(repr(compare(context, ast::CompareOp::Is, arg("int32"), None{})), "False");
}

TEST_F(Arithmetic, LogicAndConditionsTestForZero) {
  EXPECT_EQ(outcome([&] { return logical(context, ast::BoolOpKind::And, arg("int32", {8}), arg("fp32")); }), "int1[8]");
  EXPECT_EQ(outcome([&] { return unary(context, ast::UnaryOp::Not, arg("int32", {8})); }), "int1[8]");
  EXPECT_EQ(outcome([&] { return condition(context, arg("*fp16")); }), "int1");
  EXPECT_EQ(outcome([&] { return condition(context, Int(3)); }), "int1");
  EXPECT_EQ(errorOf([&] { condition(context, arg("int1", {4})); }),
            "a condition is a scalar, not a `int1[4]` tensor; use `tl.where`, or reduce it first");
  EXPECT_EQ(outcome([&] { return unary(context, ast::UnaryOp::Neg, arg("fp16", {8})); }), "fp16[8]");
  EXPECT_EQ(outcome([&] { return unary(context, ast::UnaryOp::Neg, arg("uint8")); }), "uint8");
  EXPECT_EQ(outcome([&] { return unary(context, ast::UnaryOp::Invert, arg("uint64")); }), "uint64");
  EXPECT_EQ(errorOf([&] { unary(context, ast::UnaryOp::Invert, arg("fp16")); }),
            "unsupported operand of unary `~`: `fp16` tensor");
}

TEST_F(Arithmetic, Casts) {
  struct CastRow {
    const char *from, *to, *op;
  };
  const CastRow rows[] = {{"fp32", "fp16", "tile.fp_to_fp"},     {"fp16", "fp64", "tile.fp_to_fp"},
                          {"fp32", "fp8e4nv", "tile.fp_to_fp"},  {"int8", "int32", "arith.extsi"},
                          {"uint8", "int32", "arith.extui"},     {"int1", "int32", "arith.extui"},
                          {"int64", "int8", "arith.trunci"},     {"int32", "uint32", "argument"},
                          {"int32", "fp32", "arith.sitofp"},     {"int1", "fp32", "arith.uitofp"},
                          {"fp32", "uint8", "arith.fptoui"},     {"fp16", "int32", "arith.fptosi"},
                          {"fp8e5", "int32", "arith.fptosi"},    {"int32", "fp8e5", "tile.fp_to_fp"},
                          {"int32", "int1", "arith.cmpi"},       {"fp32", "int1", "arith.cmpf"},
                          {"*fp16", "int64", "tile.ptr_to_int"}, {"*fp16", "uint64", "tile.ptr_to_int"},
                          {"int32", "*fp16", "tile.int_to_ptr"}, {"*fp16", "*int8", "tile.bitcast"},
                          {"*fp16", "int1", "arith.cmpi"}};
  for (const CastRow& row : rows)
    for (const std::vector<int64_t>& shape : {std::vector<int64_t>{}, {4, 8}}) {
      Tensor result = cast(context, arg(row.from, shape), *DType::parse(row.to));
      EXPECT_EQ(opOf(result), row.op) << row.from << " to " << row.to;
      EXPECT_EQ(result.value.getType(), (Type{*DType::parse(row.to), shape, 0}.toMLIR(&mlir)));
    }
  EXPECT_EQ(errorOf([&] { cast(context, arg("*fp16"), int32); }), "cannot convert `pointer<fp16>` to `int32`");
  EXPECT_EQ(errorOf([&] { cast(context, arg("fp16"), {Scalar::Fp8E4B15}); }), "`fp8e4b15` is not supported");
  EXPECT_EQ(errorOf([&] { cast(context, arg("fp16"), fp32, tile::Rounding::Rtz); }),
            "`fp_downcast_rounding` is for conversions to a narrower float, not from `fp16` to `fp32`");
  EXPECT_EQ(opOf(bitcast(context, arg("fp32"), int32)), "tile.bitcast");
  EXPECT_EQ(errorOf([&] { bitcast(context, arg("fp32"), fp16); }),
            "cannot bitcast `fp32` of 32 bits to `fp16` of 16 bits");
}

TEST_F(Arithmetic, VectorsTakeScalarsAndEqualLengths) {
  EXPECT_EQ(outcome([&] { return binary(context, ast::BinaryOp::Mul, arg("fp32", {}, 4), Int(2)); }), "vector<4xfp32>");
  EXPECT_EQ(outcome([&] { return binary(context, ast::BinaryOp::Add, arg("fp16", {}, 4), arg("fp32", {}, 4)); }),
            "vector<4xfp32>");
  EXPECT_EQ(outcome([&] { return subscript(context, arg("fp16", {}, 4), Int(-1)); }), "fp16");
  EXPECT_EQ(outcome([&] { return binary(context, ast::BinaryOp::Add, arg("fp32", {}, 4), arg("fp32", {4})); }),
            "cannot make shapes compatible: `vector<4xfp32>` tensor and `fp32[4]` tensor");
}

TEST_F(Arithmetic, Subscripts) {
  SliceValue all, tail;
  tail.lower = std::make_shared<Value>(Int(1));
  SliceValue backwards;
  backwards.step = std::make_shared<Value>(Int(-1));
  Value tile = arg("fp16", {4, 8});
  EXPECT_EQ(outcome([&] { return subscript(context, tile, list({all, None{}, all})); }), "fp16[4, 1, 8]");
  EXPECT_EQ(outcome([&] { return subscript(context, tile, None{}); }), "fp16[1, 4, 8]");
  EXPECT_EQ(outcome([&] { return subscript(context, arg("fp16"), list({None{}, None{}})); }), "fp16[1, 1]");
  EXPECT_EQ(outcome([&] { return subscript(context, tile, EllipsisValue{}); }),
            "a tensor is indexed with `:` and `None` only, not with `...`");
  EXPECT_EQ(outcome([&] { return subscript(context, tile, tail); }),
            "a tensor is indexed with `:` and `None` only, not with slice");
  EXPECT_EQ(outcome([&] { return subscript(context, tile, list({all, all, all})); }),
            "a tensor of rank 2 is indexed with 3 or more `:`");
  Value numbers = list({Int(1), Int(2), Int(3)});
  EXPECT_EQ(outcome([&] { return subscript(context, numbers, Int(-1)); }), "3");
  EXPECT_EQ(outcome([&] { return subscript(context, numbers, tail); }), "(2, 3)");
  EXPECT_EQ(outcome([&] { return subscript(context, numbers, backwards); }), "(3, 2, 1)");
  EXPECT_EQ(outcome([&] { return subscript(context, std::string("abc"), tail); }), "'bc'");
  EXPECT_EQ(outcome([&] { return subscript(context, numbers, Int(3)); }),
            "index 3 is outside the 3 elements of the tuple");
  EXPECT_EQ(outcome([&] { return subscript(context, numbers, arg("int32")); }),
            "`index` must be an integer known when the kernel is compiled, not a `int32` tensor");
  EXPECT_EQ(outcome([&] { return subscript(context, Int(3), Int(0)); }), "constexpr 3 cannot be indexed");
}

TEST_F(Arithmetic, SelectAndMath) {
  EXPECT_EQ(outcome([&] { return where(context, arg("int1", {8}), arg("fp16", {4, 1}), 0.0); }), "fp16[4, 8]");
  EXPECT_EQ(outcome([&] { return where(context, arg("int1"), arg("*fp16", {4}), arg("*fp16")); }), "pointer<fp16>[4]");
  EXPECT_EQ(outcome([&] { return where(context, arg("int1"), arg("*fp16"), Int(0)); }),
            "`where` chooses between `pointer<fp16>` and `int32`");
  EXPECT_TRUE(context.warnings.empty());
  where(context, arg("int32"), Int(1), Int(2));
  EXPECT_EQ(context.warnings.size(), 1u);
  EXPECT_EQ(opOf(maximum(context, arg("fp32"), 0.0, false)), "arith.maxnumf");
  EXPECT_EQ(opOf(maximum(context, arg("fp32"), 0.0, true)), "arith.maximumf");
  EXPECT_EQ(opOf(minimum(context, arg("uint32"), arg("uint32"), false)), "arith.minui");
  EXPECT_EQ(outcome([&] { return maximum(context, arg("bf16"), arg("bf16"), false); }), "fp32");
  EXPECT_EQ(outcome([&] { return clamp(context, arg("int32"), Int(0), Int(1), false); }),
            "`clamp` needs floats, not a `int32` tensor");
  EXPECT_EQ(outcome([&] { return fma(context, arg("fp16", {4}), 2.0, arg("fp32")); }), "fp32[4]");
  EXPECT_EQ(outcome([&] { return mathUnary(context, "exp", arg("fp32", {4})); }), "fp32[4]");
  EXPECT_EQ(outcome([&] { return mathUnary(context, "exp", arg("fp16")); }),
            "`exp` needs `fp32` or `fp64`, not `fp16`; convert with `.to(tl.float32)`");
  EXPECT_EQ(outcome([&] { return mathUnary(context, "expo", arg("fp16")); }), "there is no math function `expo`");
  EXPECT_EQ(opOf(abs(context, arg("int32"))), "math.absi");
  EXPECT_EQ(opOf(abs(context, arg("uint32"))), "argument");
  EXPECT_EQ(outcome([&] { return umulhi(context, arg("uint32"), arg("uint32")); }), "uint32");
  EXPECT_EQ(outcome([&] { return umulhi(context, arg("int16"), arg("int16")); }),
            "`umulhi` needs 32-bit or 64-bit integers, not a `int16` tensor");
}

TEST_F(Arithmetic, Shapes) {
  EXPECT_EQ(outcome([&] { return arange(context, 4, 20); }), "int32[16]");
  EXPECT_EQ(outcome([&] { return arange(context, 0, 12); }),
            "`arange` has size 12 in dimension 0, which is not a power of 2");
  EXPECT_EQ(outcome([&] { return arange(context, 4, 4); }),
            "`arange` from 4 to 4 is empty; its end must be greater than its start");
  EXPECT_EQ(outcome([&] { return reshape(context, arg("fp16", {4, 8}), {2, 16}, false); }), "fp16[2, 16]");
  EXPECT_EQ(outcome([&] { return reshape(context, arg("fp16", {4, 8}), {16}, false); }),
            "cannot reshape [4, 8] of 32 elements to [16] of 16");
  EXPECT_EQ(outcome([&] { return permute(context, arg("fp16", {2, 4, 8}), {2, 0, 1}); }), "fp16[8, 2, 4]");
  EXPECT_EQ(outcome([&] { return permute(context, arg("fp16", {2, 4}), {0, 0}); }),
            "`permute` [0, 0] names dimension 0 twice");
  EXPECT_EQ(outcome([&] { return join(context, arg("fp16"), arg("fp16")); }), "fp16[2]");
  EXPECT_EQ(outcome([&] { return join(context, arg("fp16", {4}), arg("fp16")); }), "fp16[4, 2]");
  EXPECT_EQ(outcome([&] { return split(context, arg("fp16", {4, 2})).second; }), "fp16[4]");
  EXPECT_EQ(outcome([&] { return split(context, arg("fp16", {2})).first; }), "fp16");
  EXPECT_EQ(outcome([&] { return split(context, arg("fp16", {4})).first; }),
            "`split` needs a last dimension of size 2, not shape [4]");
  EXPECT_EQ(outcome([&] { return cat(context, arg("fp16", {4}), arg("fp16", {4})); }), "fp16[8]");
  EXPECT_EQ(outcome([&] { return cat(context, arg("fp16", {4}), arg("fp16", {8})); }),
            "`cat` has size 12 in dimension 0, which is not a power of 2");
  EXPECT_EQ(outcome([&] { return gather(context, arg("fp16", {4, 8}), arg("int8", {4, 2}), -1); }), "fp16[4, 2]");
  EXPECT_EQ(outcome([&] { return gather(context, arg("fp16", {4, 8}), arg("int32", {2, 2}), 1); }),
            "`gather` source and indices have sizes 4 and 2 in dimension 0");
  EXPECT_EQ(outcome([&] { return histogram(context, arg("int32", {64}), 16, arg("int1", {64})); }), "int32[16]");
  EXPECT_EQ(outcome([&] { return broadcastTo(context, arg("fp16", {1, 8}), {4, 8}); }), "fp16[4, 8]");
  EXPECT_EQ(outcome([&] { return broadcastTo(context, arg("fp16", {2, 8}), {4, 8}); }),
            "cannot broadcast shape [2, 8] to [4, 8]: dimension 0 has size 2, which is neither 1 nor 4");
  EXPECT_EQ(outcome([&] { return expandDims(context, arg("fp16", {4}), 2); }), "`axis` 2 is outside the 2 dimensions");
}

}  // namespace
}  // namespace tandem::frontend::semantic
