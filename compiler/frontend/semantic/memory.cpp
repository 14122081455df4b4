// Loads and stores through pointers and tiles of pointers.
#include "compiler/frontend/semantic/access.h"
#include "compiler/frontend/semantic/typed_op.h"

namespace tandem::frontend::semantic {
namespace {

void rejectBlockOptions(Context& context, const LoadOptions& options, const char* what) {
  if (!isEmpty(options.boundaryCheck) || !isEmpty(options.padding))
    context.fail("unsupported",
                 std::string("`") + what +
                     "` through a pointer or a tile of pointers has no `padding_option` or `boundary_check`; "
                     "use a block pointer (`tl.make_block_ptr`)");
}

// Memory holds an int1 as a byte.
Tensor bytePointer(Context& context, Tensor pointer) {
  return pointer.type.dtype.pointee().isBool() ? cast(context, pointer, pointer.type.dtype.withPointee(int8)) : pointer;
}

void checkPointee(Context& context, const Tensor& pointer) {
  DType pointee = pointer.type.dtype.pointee();
  if (pointee == DType{Scalar::Void} || pointee == DType{Scalar::Fp8E4B15})
    context.fail("unsupported-type", "cannot access memory as `" + pointee.name() + "`");
}

void checkScalarAccess(Context& context, const Tensor& pointer, const Tensor& operand, const char* what) {
  if (pointer.type.isScalar() && operand.type.isTile())
    context.fail("shape-mismatch",
                 std::string("`") + what + "` is a " + describe(operand) + " but the pointer is a scalar");
}

Tensor maskOperand(Context& context, const Tensor& pointer, const Value& value) {
  Tensor mask = toTensor(context, value);
  if (!mask.type.dtype.isBool()) context.fail("type-mismatch", "`mask` needs `int1`, not a " + describe(mask));
  checkScalarAccess(context, pointer, mask, "mask");
  return mask;
}

bool isBlock(const Value& pointer) { return pointer.is<std::shared_ptr<BlockPointer>>(); }

}  // namespace

Tensor pointerOperand(Context& context, const Value& value, const std::string& what) {
  if (value.is<std::shared_ptr<Descriptor>>())
    context.fail("type-mismatch",
                 "`" + what + "` needs a pointer, not a " + describe(value) + "; use its methods `load` and `store`");
  if (!value.isTensor() || !value.as<Tensor>().type.dtype.isPointer() || value.as<Tensor>().type.isVector())
    context.fail("type-mismatch", "`" + what + "` needs a pointer or a tile of pointers, not " + describe(value));
  return value.as<Tensor>();
}

void checkWritable(Context& context, DType pointer, const std::string& what) {
  if (pointer.isConst)
    context.fail("const-pointer", "`" + what + "` writes through a `" + pointer.name() +
                                      "`; a parameter annotated `tl.const` is only read");
}

Value load(Context& context, const Value& pointerValue, const LoadOptions& options) {
  if (isBlock(pointerValue)) return loadBlock(context, *pointerValue.as<std::shared_ptr<BlockPointer>>(), options);
  Tensor pointer = pointerOperand(context, pointerValue, "load");
  checkPointee(context, pointer);
  if (options.mask.isNone() && !options.other.isNone())
    context.fail("missing-argument", "`load` has `other` but no `mask`");
  rejectBlockOptions(context, options, "load");
  mlir::Value mask, other;
  std::optional<Tensor> maskTensor;
  if (!options.mask.isNone()) {
    maskTensor = maskOperand(context, pointer, options.mask);
    std::tie(pointer, *maskTensor) = broadcast(context, pointer, *maskTensor);
    mask = maskTensor->value;
  }
  DType pointee = pointer.type.dtype.pointee();
  pointer = bytePointer(context, pointer);
  Type type = retyped(pointer.type, pointer.type.dtype.pointee());
  if (!options.other.isNone()) {
    Tensor otherTensor = toTensor(context, options.other);
    checkScalarAccess(context, pointer, otherTensor, "other");
    other = broadcastTo(context, cast(context, otherTensor, type.dtype), type.shape).value;
  }
  bool isVolatile = !options.isVolatile.isNone() && constexprBool(context, options.isVolatile, "volatile");
  Tensor loaded = make<tile::LoadOp>(context, type, pointer.value, mask, other, loadCache(context, options.cache),
                                     evictionOf(context, options.eviction), isVolatile);
  return cast(context, loaded, pointee);
}

void store(Context& context, const Value& pointerValue, const Value& value, const LoadOptions& options) {
  if (isBlock(pointerValue))
    return storeBlock(context, *pointerValue.as<std::shared_ptr<BlockPointer>>(), value, options);
  Tensor pointer = pointerOperand(context, pointerValue, "store");
  checkWritable(context, pointer.type.dtype, "store");
  checkPointee(context, pointer);
  rejectBlockOptions(context, options, "store");
  pointer = bytePointer(context, pointer);
  Tensor stored = toTensor(context, value);
  checkScalarAccess(context, pointer, stored, "value");
  stored = cast(context, broadcastTo(context, stored, pointer.type.shape), pointer.type.dtype.pointee());
  mlir::Value mask;
  if (!options.mask.isNone())
    mask = broadcastTo(context, maskOperand(context, pointer, options.mask), pointer.type.shape).value;
  tile::StoreOp::create(context.builder, context.loc(), pointer.value, stored.value, mask,
                        storeCache(context, options.cache), evictionOf(context, options.eviction));
}

}  // namespace tandem::frontend::semantic
