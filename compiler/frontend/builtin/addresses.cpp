// This file makes a pointer of each kind of address.
#include "compiler/frontend/builtin/addresses.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static Tensor pointerAt(Context& c, const Value& value, const std::string& what) {
  mlir::MLIRContext* mlir = c.builder.getContext();
  if (value.is<std::shared_ptr<SmemBuffer>>()) {
    const SmemBuffer& smem = *value.as<std::shared_ptr<SmemBuffer>>();
    Type type{smem.dtype.pointerTo(), {}};
    std::vector<mlir::Value> first(smem.shape.size(), constant(c, Int(0), DType{Scalar::Int32}).value);
    return {simt::SmemPtrOp::create(c.builder, c.loc(), type.toMLIR(mlir), smem.value, first), type};
  }
  bool isInteger = value.isTensor() && value.as<Tensor>().type.isScalar() && value.as<Tensor>().type.dtype.isInt();
  if (!isInteger) return pointer(c, value, what);
  const Tensor& bits = value.as<Tensor>();
  Type type{DType{Scalar::Int8, 1}, {}};
  if (bits.type.dtype.bitWidth() == 64) return cast(c, bits, type.dtype);
  if (bits.type.dtype.bitWidth() == 32)
    return {simt::SmemAtOp::create(c.builder, c.loc(), type.toMLIR(mlir), bits.value), type};
  c.fail("type",
         "`" + what + "` must be an address of 64 bits, or one of 32 bits in shared memory, not " + describe(value));
}

mlir::Value address(Context& c, const Value& value, const std::string& what) { return pointerAt(c, value, what).value; }

mlir::Value addressBits(Context& c, const Value& value, const std::string& what) {
  return cast(c, pointerAt(c, value, what), DType{Scalar::UInt64}).value;
}

}  // namespace tandem::frontend::builtin
