// Rows of `tl`: which ops they emit and which mistakes they name.
#include "compiler/dialect/tile/attributes.h"
#include "compiler/frontend/builtin/test/emit_fixture.h"

namespace tandem::frontend {

static const DType f16{Scalar::Fp16}, f32{Scalar::Fp32}, i32{Scalar::Int32};

TEST_F(EmitTest, Program) {
  call("tl.program_id", {Int(0)});
  call("tl.num_programs", {}, {{"axis", Int(2)}});
  EXPECT_EQ(ops(), (Names{"tile.program_id", "tile.num_programs"}));
  EXPECT_EQ(failure("tl.program_id", {Int(3)}), "argument-value");
}

TEST_F(EmitTest, Shapes) {
  Value x = call("tl.arange", {Int(0), Int(64)});
  Value y = call("tl.reshape", {x, Int(8), Int(8)});
  EXPECT_EQ(y.as<Tensor>().type.shape, (std::vector<int64_t>{8, 8}));
  Value t = call("tl.tensor.T", {y});
  EXPECT_EQ(t.as<Tensor>().type.shape, (std::vector<int64_t>{8, 8}));
  Value e = call("tl.expand_dims", {x, makeTuple({Int(0), Int(-1)})});
  EXPECT_EQ(e.as<Tensor>().type.shape, (std::vector<int64_t>{1, 64, 1}));
  EXPECT_EQ(ops(), (Names{"tile.make_range", "tile.reshape", "tile.permute", "tile.expand_dims", "tile.expand_dims"}));
  EXPECT_EQ(failure("tl.expand_dims", {x, Int(4)}), "argument-value");
  EXPECT_EQ(failure("tl.trans", {x}), "type");
}

TEST_F(EmitTest, JoinSplitInterleave) {
  Value x = argument(f32, {4, 8}), y = argument(f32, {4, 8});
  EXPECT_EQ(call("tl.interleave", {x, y}).as<Tensor>().type.shape, (std::vector<int64_t>{4, 16}));
  Value joined = call("tl.join", {x, y});
  EXPECT_EQ(call("tl.split", {joined}).elements().size(), 2u);
  EXPECT_EQ(ops(), (Names{"tile.join", "tile.reshape", "tile.join", "tile.split"}));
}

TEST_F(EmitTest, CastRounding) {
  Value x = argument(f32, {8});
  call("tl.tensor.to", {x, f16}, {{"fp_downcast_rounding", std::string("rtz")}});
  EXPECT_EQ(ops(), (Names{"tile.fp_to_fp"}));
  EXPECT_EQ(failure("tl.cast", {x, i32}, {{"fp_downcast_rounding", std::string("rtz")}}), "argument-value");
  EXPECT_EQ(failure("tl.cast", {x, f16}, {{"fp_downcast_rounding", std::string("up")}}), "argument-value");
  Value same = call("tl.cast", {x, x.as<Tensor>().type.dtype}, {{"fp_downcast_rounding", std::string("rtz")}});
  EXPECT_EQ(same.as<Tensor>().value, x.as<Tensor>().value);
}

TEST_F(EmitTest, MathAndSelection) {
  Value x = argument(f32, {8});
  call("tl.exp", {x});
  call("tl.math.exp2", {x});
  call("tl.abs", {x});
  EXPECT_EQ(ops(), (Names{"math.exp", "math.exp2", "math.absf"}));
  EXPECT_EQ(call("tl.where", {call("tl.full", {makeTuple({Int(8)}), Value(true), DType{Scalar::Int1}}), x, Value(0.0)})
                .as<Tensor>()
                .type.dtype,
            f32);
  EXPECT_TRUE(emitted("arith.select"));
}

TEST_F(EmitTest, OperatorsByName) {
  Value x = argument(i32, {8}), y = argument(i32, {8});
  mlir::Operation* difference = call("tl.tensor.__rsub__", {x, y}).as<Tensor>().value.getDefiningOp();
  EXPECT_EQ(difference->getOperand(0), y.as<Tensor>().value);
  call("tl.tensor.__lshift__", {x, Int(4)});
  call("tl.tensor.__rshift__", {x, Int(4)});
  call("tl.tensor.__le__", {x, y});
  call("tl.tensor.__invert__", {x});
  for (const char* name : {"arith.subi", "arith.shli", "arith.shrsi", "arith.cmpi", "arith.xori"})
    EXPECT_TRUE(emitted(name)) << name;
  EXPECT_EQ(failure("tl.tensor.__and__", {argument(f32, {8}), y}), "type-mismatch");
}

TEST_F(EmitTest, MemoryAndAtomics) {
  Value p = pointer(Scalar::Fp32), n = pointer(Scalar::Int32);
  Value x = call("tl.load", {p});
  EXPECT_EQ(x.as<Tensor>().type, (Type{f32, {}}));
  call("tl.store", {p, x});
  call("tl.atomic_add", {n, Int(1)}, {{"sem", std::string("release")}, {"scope", std::string("sys")}});
  call("tl.atomic_cas", {n, Int(0), Int(1)});
  EXPECT_EQ(ops(), (Names{"tile.load", "tile.store", "tile.atomic_rmw", "tile.atomic_cas"}));
}

TEST_F(EmitTest, Descriptor) {
  Value p = pointer(Scalar::Fp16);
  Value d = call("tl.make_tensor_descriptor",
                 {p, makeTuple({Int(64), Int(64)}), makeTuple({Int(64), Int(1)}), makeTuple({Int(16), Int(16)})});
  Value x = call("tl.tensor_descriptor.load", {d, makeTuple({Int(0), Int(0)})});
  EXPECT_EQ(x.as<Tensor>().type, (Type{f16, {16, 16}}));
  call("tl.store_tensor_descriptor", {d, makeTuple({Int(0), Int(0)}), x});
  call("tl.tensor_descriptor.atomic_add", {d, makeTuple({Int(0), Int(0)}), x});
  EXPECT_TRUE(emitted("tile.block_load"));
  EXPECT_TRUE(emitted("tile.block_store"));
  EXPECT_EQ(failure("tl.load_tensor_descriptor", {p, makeTuple({})}), "type");
}

TEST_F(EmitTest, Dot) {
  Value a = argument(f16, {16, 32}), b = argument(f16, {32, 16});
  EXPECT_EQ(call("tl.dot", {a, b}).as<Tensor>().type, (Type{f32, {16, 16}}));
  EXPECT_EQ(ops(), (Names{"tile.dot"}));
}

TEST_F(EmitTest, DotScaled) {
  Value a = argument(DType{Scalar::Fp8E4NV}, {16, 64}), b = argument(DType{Scalar::UInt8}, {32, 16});
  Value sa = argument(DType{Scalar::UInt8}, {16, 2}), sb = argument(DType{Scalar::UInt8}, {16, 2});
  Value r = call("tl.dot_scaled", {a, sa, std::string("e4m3"), b, sb, std::string("e2m1")});
  EXPECT_EQ(r.as<Tensor>().type, (Type{f32, {16, 16}}));
  EXPECT_EQ(ops(), (Names{"tile.dot_scaled"}));
  EXPECT_EQ(failure("tl.dot_scaled", {a, sa, std::string("e4m3"), b, sb, std::string("e5m2")}), "shape-mismatch");
  EXPECT_EQ(failure("tl.dot_scaled", {a, sb, std::string("fp4"), b, sb, std::string("e2m1")}), "unknown-option");
}

TEST_F(EmitTest, Debugging) {
  Value x = argument(f32, {8});
  call("tl.device_print", {std::string("x"), x}, {{"hex", Value(true)}});
  call("tl.device_assert", {argument(DType{Scalar::Int1}), std::string("never")});
  options_.target = "sm_90a";
  call("extra.expect", {argument(DType{Scalar::Int1}), std::string("on a GPU")});
  EXPECT_EQ(ops(), (Names{"tile.print"}));
  options_.target = "sim";
  call("extra.expect", {argument(DType{Scalar::Int1}), std::string("now")});
  EXPECT_TRUE(emitted("tile.assert"));
  options_.debug = true;
  call("tl.device_assert", {argument(DType{Scalar::Int1}), std::string("now")});
  EXPECT_TRUE(emitted("tile.assert"));
  std::string printed;
  c.staticPrint = [&](const std::string& text) { printed += text; };
  call("tl.static_print", {std::string("a"), Int(3)}, {{"sep", std::string("-")}});
  EXPECT_EQ(printed, "a-3\n");
}

TEST_F(EmitTest, StaticAssert) {
  call("tl.static_assert", {Value(true)});
  EXPECT_EQ(failure("tl.static_assert", {Value(false), std::string("too small")}), "static-assert");
  EXPECT_EQ(message, "static assertion failed: too small");
  EXPECT_EQ(failure("tl.static_assert", {argument(DType{Scalar::Int1})}), "constexpr-needed");
}

TEST_F(EmitTest, Hints) {
  Value x = call("tl.arange", {Int(0), Int(16)});
  call("tl.multiple_of", {x, Int(16)});
  EXPECT_EQ(tile::promiseOf(last(), tile::Promise::Divisibility).asArrayRef(), llvm::ArrayRef<int32_t>(16));
  call("tl.max_contiguous", {x, Int(8)});
  call("tl.max_constancy", {x, Int(1)});
  EXPECT_EQ(tile::promiseOf(last(), tile::Promise::Contiguity).asArrayRef(), llvm::ArrayRef<int32_t>(8));
  EXPECT_TRUE(tile::promiseOf(last(), tile::Promise::Constancy) &&
              tile::promiseOf(last(), tile::Promise::Divisibility));
  EXPECT_EQ(failure("tl.multiple_of", {x, makeTuple({Int(1), Int(2)})}), "argument-value");
  EXPECT_EQ(failure("tl.multiple_of", {x, Int(0)}), "argument-value");
  call("tl.assume", {argument(DType{Scalar::Int1})});
  EXPECT_TRUE(emitted("tile.assume"));
}

TEST_F(EmitTest, Ranges) {
  Value r = call("tl.range", {Int(8)}, {{"num_stages", Int(2)}});
  const RangeValue& range = *r.as<std::shared_ptr<RangeValue>>();
  EXPECT_EQ(range.start->as<Int>(), 0);
  EXPECT_EQ(range.stop->as<Int>(), 8);
  EXPECT_EQ(range.hints.at("num_stages").as<Int>(), 2);
  EXPECT_FALSE(range.isStatic);
  EXPECT_TRUE(call("tl.static_range", {Int(1), Int(4)}).as<std::shared_ptr<RangeValue>>()->isStatic);
}

TEST_F(EmitTest, DTypes) {
  EXPECT_EQ(call("tl.pointer_type", {f16}).as<DType>(), (DType{Scalar::Fp16, 1}));
  EXPECT_EQ(call("tl.dtype", {std::string("bf16")}).as<DType>(), DType{Scalar::Bf16});
  EXPECT_TRUE(call("tl.dtype.is_floating", {f16}).as<bool>());
  EXPECT_FALSE(call("tl.dtype.is_int_signed", {DType{Scalar::UInt8}}).as<bool>());
  EXPECT_EQ(failure("tl.dtype", {std::string("int7")}), "argument-value");
  EXPECT_EQ(call("tl.get_int_dtype", {Int(16), Value(false)}).as<DType>(), DType{Scalar::UInt16});
  EXPECT_EQ(call("tl.get_int_dtype", {Int(1), Value(true)}).as<DType>(), DType{Scalar::Int1});
  EXPECT_EQ(failure("tl.get_int_dtype", {Int(7), Value(true)}), "argument-value");
}

TEST_F(EmitTest, InlineAssembly) {
  Value x = argument(i32, {8});
  Value r = call("tl.inline_asm_elementwise",
                 {std::string("mov $0, $1;"), std::string("=r,r"), makeTuple({x}), f32, Value(true), Int(1)});
  EXPECT_EQ(r.as<Tensor>().type, (Type{f32, {8}}));
  EXPECT_EQ(ops(), (Names{"tile.inline_asm"}));
}

TEST_F(EmitTest, Libdevice) {
  Value x = argument(f32, {8}), n = argument(i32);
  EXPECT_EQ(call("tl.extra.libdevice.tanh", {x}).as<Tensor>().type, (Type{f32, {8}}));
  EXPECT_EQ(mlir::cast<tile::ExternElementwiseOp>(last()).getSymbol(), "__nv_tanhf");
  call("tl.extra.libdevice.pow", {x, Value(2.0)});
  EXPECT_EQ(mlir::cast<tile::ExternElementwiseOp>(last()).getSymbol(), "__nv_powf");
  call("tl.extra.libdevice.ffs", {n});
  EXPECT_EQ(mlir::cast<tile::ExternElementwiseOp>(last()).getSymbol(), "__nv_ffs");
  EXPECT_EQ(call("tl.extra.libdevice.isnan", {x}).as<Tensor>().type.dtype, DType{Scalar::Int1});
  EXPECT_EQ(failure("tl.extra.libdevice.tanh", {argument(f16)}), "type");
  EXPECT_EQ(message, "`libdevice.tanh` takes (fp32) or (fp64), not " + describe(argument(f16)));
  ops();
}

}  // namespace tandem::frontend
