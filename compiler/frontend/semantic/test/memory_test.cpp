// Loads, stores, blocks, descriptors, atomics, products and reductions.
#include "compiler/frontend/semantic/test/kernel.h"

namespace tandem::frontend::semantic {
namespace {

using Memory = Kernel;
using Product = Kernel;
using Region = Kernel;

LoadOptions masked(Value mask, Value other = {}) {
  LoadOptions options;
  options.mask = std::move(mask);
  options.other = std::move(other);
  return options;
}

TEST_F(Memory, LoadsBroadcastMaskAndOther) {
  EXPECT_EQ(outcome([&] { return load(context, arg("*fp16"), {}); }), "fp16");
  EXPECT_EQ(outcome([&] { return load(context, arg("*fp16", {4, 8}), masked(arg("int1", {8}), Int(0))); }),
            "fp16[4, 8]");
  EXPECT_EQ(outcome([&] { return load(context, arg("*fp16", {4, 1}), masked(arg("int1", {1, 8}))); }), "fp16[4, 8]");
  EXPECT_EQ(outcome([&] { return load(context, arg("*int1", {8}), masked(true, false)); }), "int1[8]");
  EXPECT_EQ(outcome([&] { return load(context, arg("**fp16"), {}); }), "pointer<fp16>");
  LoadOptions modified;
  modified.cache = std::string(".cg");
  modified.eviction = std::string("evict_first");
  modified.isVolatile = true;
  Tensor loaded = load(context, arg("*fp16"), modified).as<Tensor>();
  auto op = loaded.value.getDefiningOp<tile::LoadOp>();
  EXPECT_EQ(op.getCache(), tile::Cache::Cg);
  EXPECT_EQ(op.getEvict(), tile::Evict::First);
  EXPECT_TRUE(op.getIsVolatile());
}

TEST_F(Memory, LoadsAndStoresRefuse) {
  LoadOptions bounded, cached;
  bounded.boundaryCheck = list({Int(0)});
  cached.cache = std::string(".wt");
  EXPECT_EQ(outcome([&] { return load(context, arg("int32"), {}); }),
            "`load` needs a pointer or a tile of pointers, not `int32` tensor");
  EXPECT_EQ(outcome([&] { return load(context, arg("*fp16"), masked({}, Int(0))); }),
            "`load` has `other` but no `mask`");
  EXPECT_EQ(outcome([&] { return load(context, arg("*fp16"), masked(arg("int1", {4}))); }),
            "`mask` is a `int1[4]` tensor but the pointer is a scalar");
  EXPECT_EQ(outcome([&] { return load(context, arg("*fp16", {4}), masked(arg("int32", {4}))); }),
            "`mask` needs `int1`, not a `int32[4]` tensor");
  EXPECT_EQ(outcome([&] { return load(context, arg("*fp16", {4}), cached); }),
            "`cache_modifier` \".wt\" is not supported; it is one of \".ca\", \".cg\", \".cv\"");
  EXPECT_EQ(outcome([&] { return load(context, arg("*fp16", {4}), bounded); }),
            "`load` through a pointer or a tile of pointers has no `padding_option` or `boundary_check`; use a block "
            "pointer (`tl.make_block_ptr`)");
  EXPECT_EQ(outcome([&] { return load(context, arg("*void"), {}); }), "cannot access memory as `void`");
  EXPECT_EQ(errorOf([&] { store(context, arg("*fp16"), arg("fp16", {4}), {}); }),
            "`value` is a `fp16[4]` tensor but the pointer is a scalar");
  EXPECT_EQ(errorOf([&] { store(context, arg("*fp16", {8}), arg("fp16", {4}), {}); }),
            "cannot broadcast shape [4] to [8]: dimension 0 has size 4, which is neither 1 nor 8");
  EXPECT_EQ(errorOf([&] { store(context, arg("*fp16", {8}), 1.0, cached); }), "accepted");
  EXPECT_EQ(errorOf([&] { store(context, arg("*int1", {8}), arg("int1", {8}), masked(arg("int1"))); }), "accepted");
}

TEST_F(Memory, BlockPointers) {
  auto make = [&](Value blockShape, Value order) {
    return makeBlockPointer(context, arg("*fp16"), list({arg("int32"), Int(64)}), list({Int(64), Int(1)}),
                            list({Int(0), arg("int32")}), blockShape, order);
  };
  Value block = make(list({Int(16), Int(32)}), list({Int(1), Int(0)}));
  LoadOptions bounded;
  bounded.boundaryCheck = list({Int(1), Int(0)});
  bounded.padding = std::string("nan");
  EXPECT_EQ(outcome([&] { return load(context, block, bounded); }), "fp16[16, 32]");
  Value moved = advance(context, block, list({Int(16), Int(0)}));
  EXPECT_EQ(errorOf([&] { store(context, moved, arg("fp32", {16, 32}), {}); }), "accepted");
  EXPECT_EQ(errorOf([&] { store(context, moved, arg("fp32", {32, 16}), {}); }),
            "`store` has a block of shape [16, 32] but a value of shape [32, 16]");
  EXPECT_EQ(errorOf([&] { load(context, block, masked(true)); }),
            "`load` through a block pointer has no `mask` or `other`; use `boundary_check`");
  EXPECT_EQ(errorOf([&] { make(list({Int(16)}), list({Int(0)})); }), "`shape` has 2 entries but `block_shape` has 1");
  EXPECT_EQ(errorOf([&] { make(list({Int(16), Int(32)}), list({Int(1), Int(1)})); }),
            "`order` (1, 1) is not a permutation of 0 to 1");
  EXPECT_EQ(errorOf([&] { advance(context, block, list({arg("int64"), Int(0)})); }),
            "`offsets` has 32 bits but was given a `int64` tensor; add a `.to(tl.int32)`");
}

TEST_F(Memory, Descriptors) {
  Value shape = list({arg("int32"), Int(128)}), strides = list({Int(128), Int(1)});
  Value tile = makeDescriptor(context, arg("*fp16"), shape, strides, list({Int(16), Int(64)}), {});
  Value row = makeDescriptor(context, arg("*fp16"), shape, strides, list({Int(1), Int(64)}), {});
  const Descriptor &whole = *tile.as<std::shared_ptr<Descriptor>>(), &rows = *row.as<std::shared_ptr<Descriptor>>();
  EXPECT_EQ(outcome([&] { return descriptorLoad(context, whole, list({Int(0), arg("int32")})); }), "fp16[16, 64]");
  EXPECT_EQ(
      errorOf([&] { descriptorStore(context, whole, list({Int(0), Int(0)}), arg("fp32", {16, 64}), tile::Rmw::Max); }),
      "accepted");
  EXPECT_EQ(outcome([&] { return descriptorGather(context, rows, arg("int32", {8}), Int(64)); }), "fp16[8, 64]");
  EXPECT_EQ(errorOf([&] { descriptorScatter(context, rows, arg("fp16", {8, 64}), arg("int32", {8}), Int(64)); }),
            "accepted");
  EXPECT_EQ(outcome([&] { return descriptorGather(context, whole, arg("int32", {8}), Int(0)); }),
            "gather and scatter need a descriptor block of one row, not [16, 64]");
  EXPECT_EQ(outcome([&] { return descriptorLoad(context, whole, list({Int(0)})); }),
            "descriptor of rank 2 is accessed with 1 offsets");
  EXPECT_EQ(
      errorOf([&] { descriptorStore(context, whole, list({Int(0), Int(0)}), arg("fp16", {16, 64}), tile::Rmw::And); }),
      "descriptor cannot reduce `fp16` with `and`");
  EXPECT_EQ(errorOf([&] { makeDescriptor(context, arg("*fp16"), shape, strides, list({Int(16), Int(4)}), {}); }),
            "descriptor block has 4 * 2 = 8 bytes in its last dimension; at least 16 are needed");
  EXPECT_EQ(errorOf([&] {
              makeDescriptor(context, arg("*fp16"), shape, list({Int(1), Int(2)}), list({Int(16), Int(64)}), {});
            }),
            "descriptor has stride 2 in its last dimension, not 1");
}

TEST_F(Memory, Atomics) {
  struct AtomicRow {
    const char *op, *pointer, *value, *result;
  };
  const AtomicRow rows[] = {
      {"add", "*fp16", "1", "fp16"},
      {"add", "pointer<int32>[8]", "1", "int32[8]"},
      {"max", "pointer<fp32>[8]", "2.5", "fp32[8]"},
      {"min", "*fp64", "2.5", "fp64"},
      {"xchg", "*fp32", "0.0", "fp32"},
      {"xor", "*int64", "3", "int64"},
      {"max", "*fp16", "1", "`atomic_max` does not support `fp16`"},
      {"add", "*int16", "1", "`atomic_add` does not support `int16`"},
      {"and", "*fp32", "1", "`atomic_and` does not support `fp32`"},
      {"add", "**fp32", "1", "`atomic_add` does not support `pointer<fp32>`"},
      {"add", "*int32", "int32[4]", "`value` is a `int32[4]` tensor but the pointer is a scalar"},
  };
  for (const AtomicRow& row : rows)
    EXPECT_EQ(outcome([&] { return atomicRmw(context, row.op, operand(row.pointer), operand(row.value), {}, {}, {}); }),
              row.result)
        << row.op << row.pointer;
  Tensor unsignedMax =
      atomicRmw(context, "max", arg("*uint32"), Int(1), true, std::string("relaxed"), std::string("sys")).as<Tensor>();
  auto op = unsignedMax.value.getDefiningOp<tile::AtomicRmwOp>();
  EXPECT_EQ(op.getRmw(), tile::Rmw::UMax);
  EXPECT_EQ(op.getSem(), tile::Semantic::Relaxed);
  EXPECT_EQ(op.getScope(), tile::Scope::Sys);
  EXPECT_EQ(outcome([&] { return atomicCas(context, arg("*uint64", {4}), Int(0), Int(1), {}, {}); }), "uint64[4]");
  EXPECT_EQ(outcome([&] { return atomicCas(context, arg("*int8"), Int(0), Int(1), {}, {}); }),
            "`atomic_cas` needs elements of 16, 32 or 64 bits, not `int8`");
  EXPECT_EQ(outcome([&] { return atomicCas(context, arg("*int32"), Int(0), Int(1), std::string("sc"), {}); }),
            "`sem` \"sc\" is not supported; it is one of \"acq_rel\", \"acquire\", \"release\", \"relaxed\"");
}

TEST_F(Product, DotTypesAndShapes) {
  struct DotRow {
    const char *lhs, *rhs, *result;
  };
  const DotRow rows[] = {
      {"fp16[16, 32]", "fp16[32, 64]", "fp32[16, 64]"},
      {"bf16[2, 16, 32]", "bf16[2, 32, 64]", "fp32[2, 16, 64]"},
      {"int8[16, 32]", "int8[32, 16]", "int32[16, 16]"},
      {"fp8e5[16, 32]", "fp8e4nv[32, 16]", "fp32[16, 16]"},
      {"fp64[4, 4]", "fp64[4, 4]", "fp64[4, 4]"},
      {"fp16[16, 64]", "fp16[32, 16]", "`dot` operands have inner dimensions 64 and 32"},
      {"fp16[16, 16]", "bf16[16, 16]", "`dot` operands have types `fp16` and `bf16`"},
      {"fp16[16]", "fp16[16]", "`dot` operands have shapes [16] and [16], not both of rank 2 or 3"},
      {"bf16[2, 16, 32]", "bf16[4, 32, 64]", "`dot` operands have batch dimensions 2 and 4"},
      {"int32[16, 16]", "int32[16, 16]",
       "`dot` left operand has type `int32`; it is int8, an fp8 type, fp16, bf16, fp32 or fp64"},
      {"fp16", "fp16[16, 16]", "`dot` left operand is `fp16` tensor, not a tile"},
  };
  for (const DotRow& row : rows)
    EXPECT_EQ(outcome([&] { return dot(context, operand(row.lhs), operand(row.rhs), {}); }), row.result)
        << row.lhs << row.rhs;
}

TEST_F(Product, DotOptions) {
  Value a = arg("fp16", {16, 32}), b = arg("fp16", {32, 16});
  DotOptions half, wrong, ieee, atRunTime, unknown;
  half.acc = arg("fp16", {16, 16});
  wrong.acc = arg("fp32", {16, 32});
  ieee.allowTf32 = false;
  atRunTime.allowTf32 = arg("int1");
  unknown.inputPrecision = std::string("tf64");
  EXPECT_EQ(outcome([&] { return dot(context, a, b, half); }), "fp16[16, 16]");
  EXPECT_EQ(outcome([&] { return dot(context, a, b, wrong); }),
            "`dot` gives `fp32[16, 16]` but the accumulator is `fp32[16, 32]`");
  EXPECT_EQ(dot(context, a, b, ieee).value.getDefiningOp<tile::DotOp>().getPrecision(), tile::Precision::Ieee);
  EXPECT_EQ(dot(context, a, b, atRunTime).value.getDefiningOp<tile::DotOp>().getPrecision(), tile::Precision::Tf32);
  EXPECT_EQ(outcome([&] { return dot(context, a, b, unknown); }),
            "`input_precision` \"tf64\" is not one of tf32, tf32x3, ieee, bf16x3, bf16x6");
}

TEST_F(Product, ScaledDot) {
  auto scaled = [&](Value a, const char* aFormat, Value b, const char* bFormat, Value aScale) {
    return outcome([&] {
      return dotScaled(context, a, aScale, std::string(aFormat), b, {}, std::string(bFormat), {}, {}, {}, {}, {});
    });
  };
  EXPECT_EQ(scaled(arg("uint8", {16, 32}), "e2m1", arg("fp8e4nv", {64, 16}), "e4m3", arg("uint8", {16, 2})),
            "fp32[16, 16]");
  EXPECT_EQ(scaled(arg("uint8", {16, 64}), "e5m2", arg("bf16", {64, 16}), "bf16", {}), "fp32[16, 16]");
  EXPECT_EQ(scaled(arg("uint8", {16, 32}), "e2m1", arg("fp8e4nv", {64, 16}), "e4m3", arg("uint8", {16, 4})),
            "`dot_scaled` left scale has shape [16, 4], not [16, 2]");
  EXPECT_EQ(scaled(arg("fp16", {16, 32}), "e4m3", arg("fp8e4nv", {32, 16}), "e4m3", {}),
            "`dot_scaled` left operand of format `e4m3` has type `fp16`, not `fp8e4nv`");
  EXPECT_EQ(scaled(arg("fp16", {16, 32}), "e3", arg("fp8e4nv", {32, 16}), "e4m3", {}),
            "`lhs_format` \"e3\" is not one of e2m1, e4m3, e5m2, bf16, fp16");
}

TEST_F(Region, ReductionsCallTheCombineFunction) {
  context.call = [&](const Value&, const std::vector<Value>& scalars, const std::map<std::string, Value>&) {
    if (scalars.size() == 2) return binary(context, ast::BinaryOp::Add, scalars[0], scalars[1]);
    return list({binary(context, ast::BinaryOp::Add, scalars[0], scalars[2]), scalars[1]});
  };
  EXPECT_EQ(outcome([&] { return reduce(context, arg("fp32", {4, 8}), 1, None{}, false); }), "fp32[4]");
  EXPECT_EQ(outcome([&] { return reduce(context, arg("fp32", {4, 8}), -2, None{}, true); }), "fp32[1, 8]");
  EXPECT_EQ(outcome([&] { return reduce(context, arg("fp32", {8}), 0, None{}, false); }), "fp32");
  EXPECT_EQ(outcome([&] { return reduce(context, arg("fp32", {4, 8}), std::nullopt, None{}, false); }), "fp32");
  EXPECT_EQ(outcome([&] { return reduce(context, arg("fp32", {4, 8}), std::nullopt, None{}, true); }), "fp32[1, 1]");
  EXPECT_EQ(outcome([&] { return reduce(context, list({arg("fp32", {8}), arg("int32", {8})}), 0, None{}, false); }),
            "(fp32, int32)");
  EXPECT_EQ(outcome([&] { return scan(context, arg("int8", {4, 8}), -1, None{}, true); }), "int8[4, 8]");
  EXPECT_EQ(outcome([&] { return mapElementwise(context, None{}, {arg("fp32", {4, 8}), arg("int32", {8})}, 1); }),
            "fp32[4, 8]");
  EXPECT_EQ(outcome([&] { return mapElementwise(context, None{}, {arg("fp16", {8}), arg("int32", {8})}, 2); }),
            "fp16[8]");
  EXPECT_EQ(context.builder.getInsertionBlock(), body);
  EXPECT_EQ(outcome([&] { return reduce(context, arg("fp32", {4, 8}), 2, None{}, false); }),
            "`axis` 2 is outside the 2 dimensions");
  EXPECT_EQ(outcome([&] { return reduce(context, arg("fp32"), 0, None{}, false); }),
            "`reduce` needs a tile, not `fp32` tensor");
}

TEST_F(Region, FailuresLeaveTheBuilderBehindTheOp) {
  context.call = [&](const Value&, const std::vector<Value>& scalars, const std::map<std::string, Value>&) -> Value {
    return compare(context, ast::CompareOp::Lt, scalars[0], scalars[1]);
  };
  EXPECT_EQ(errorOf([&] { reduce(context, arg("fp32", {8}), 0, None{}, false); }),
            "function of `reduce` returns `int1` for a source of `fp32`");
  EXPECT_EQ(context.builder.getInsertionBlock(), body);
  body->clear();
}

}  // namespace
}  // namespace tandem::frontend::semantic
