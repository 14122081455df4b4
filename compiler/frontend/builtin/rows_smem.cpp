// Buffers in shared memory.
#include "compiler/frontend/builtin/operands.h"
#include <array>

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static const SmemBuffer& buffer(Context& c, const Value& value) {
  if (!value.is<std::shared_ptr<SmemBuffer>>())
    c.fail("type", "`smem` must be a buffer of `allocate_smem`, not " + describe(value));
  return *value.as<std::shared_ptr<SmemBuffer>>();
}

// Vector, rows per phase, phases; nothing when rows are not swizzled.
static std::optional<std::array<int32_t, 3>> swizzle(Context& c, const Arguments& a,
                                                     const std::vector<int64_t>& shape) {
  std::array<int32_t, 3> parts;
  static const char* const names[] = {"vec", "per_phase", "max_phase"};
  for (size_t k = 0; k < parts.size(); ++k) {
    Int value = constexprInt(c, a[names[k]], names[k]);
    if (value < 1 || value > 1024 || (value & (value - 1)) != 0)
      c.fail("argument-value",
             "`" + std::string(names[k]) + "` is " + repr(a[names[k]]) + "; it must be a power of two up to 1024");
    parts[k] = static_cast<int32_t>(value);
  }
  if (parts[2] == 1 || shape.size() < 2) return std::nullopt;
  if (shape.back() % (int64_t(parts[0]) * parts[2]) != 0)
    c.fail("argument-value", "`max_phase` vectors of `vec` elements are " +
                                 std::to_string(int64_t(parts[0]) * parts[2]) + ", which do not divide rows of " +
                                 std::to_string(shape.back()));
  return parts;
}

static Value allocateRow(Context& c, const Arguments& a) {
  DType dtype = constexprDType(c, a["element_ty"], "element_ty");
  std::vector<int64_t> shape = integers(c, a["shape"], "shape");
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size < 1 || size > (1 << 20))
      c.fail("argument-value", "`shape` is " + repr(a["shape"]) + "; sizes are 1 to 1048576");
    count *= size;
    if (count > (1 << 20))
      c.fail("argument-value", "`shape` is " + repr(a["shape"]) + ", more elements than shared memory holds");
  }
  if (shape.empty() || dtype == DType{Scalar::Void})
    c.fail("argument-value", "`allocate_smem` needs a shape and an element type with a size");
  auto type = tile::SmemType::get(c.builder.getContext(), shape, dtype.toMLIR(c.builder.getContext()));
  auto op = simt::SmemAllocOp::create(c.builder, c.loc(), type, mlir::Value());
  if (auto parts = swizzle(c, a, shape)) op.setSwizzle(llvm::ArrayRef<int32_t>(*parts));
  mlir::Value value = op;
  return std::make_shared<SmemBuffer>(SmemBuffer{value, dtype, shape});
}

static std::vector<mlir::Value> indices(Context& c, const SmemBuffer& smem, const Value& value) {
  std::vector<Value> list;
  if (value.isNone())
    list.assign(smem.shape.size(), Int(0));
  else if (value.isTuple())
    list = value.elements();
  else
    list = {value};
  if (list.size() != smem.shape.size())
    c.fail("argument-value", "a buffer of rank " + std::to_string(smem.shape.size()) + " has " +
                                 std::to_string(list.size()) + " indices");
  std::vector<mlir::Value> result;
  for (const Value& index : list) result.push_back(integer(c, index, Scalar::Int32, "indices"));
  return result;
}

static Value indexRow(Context& c, const Arguments& a) {
  const SmemBuffer& smem = buffer(c, a["smem"]);
  if (smem.shape.size() < 2) c.fail("type", "`smem_index` needs a buffer of rank 2 or more, not of rank 1");
  std::vector<int64_t> shape(smem.shape.begin() + 1, smem.shape.end());
  auto type = tile::SmemType::get(c.builder.getContext(), shape, smem.dtype.toMLIR(c.builder.getContext()));
  mlir::Value index = integer(c, a["index"], Scalar::Int32, "index");
  return std::make_shared<SmemBuffer>(
      SmemBuffer{simt::SmemIndexOp::create(c.builder, c.loc(), type, smem.value, index), smem.dtype, shape});
}

static Value loadRow(Context& c, const Arguments& a) {
  const SmemBuffer& smem = buffer(c, a["smem"]);
  Type type{smem.dtype, {}};
  auto at = indices(c, smem, a["indices"]);
  return Tensor{simt::SmemLoadOp::create(c.builder, c.loc(), type.toMLIR(c.builder.getContext()), smem.value, at),
                type};
}

static Value storeRow(Context& c, const Arguments& a) {
  const SmemBuffer& smem = buffer(c, a["smem"]);
  Tensor value = scalarOf(c, a["value"], smem.dtype, "value");
  simt::SmemStoreOp::create(c.builder, c.loc(), smem.value, value.value, indices(c, smem, a["indices"]));
  return None{};
}

static Tensor address(Context& c, const Arguments& a) {
  const SmemBuffer& smem = buffer(c, a["smem"]);
  Type type{smem.dtype.pointerTo(), {}};
  auto at = indices(c, smem, a["indices"]);
  return {simt::SmemPtrOp::create(c.builder, c.loc(), type.toMLIR(c.builder.getContext()), smem.value, at), type};
}

static Value sharedAddressRow(Context& c, const Arguments& a) {
  return cast(c, cast(c, address(c, a), DType{Scalar::UInt64}), DType{Scalar::UInt32});
}

static Value deallocateRow(Context& c, const Arguments& a) {
  buffer(c, a["smem"]);
  return None{};
}

void addSmemRows(Rows& rows) {
  rows.push_back(
      {"dl.allocate_smem",
       "element_ty, shape, vec=1, per_phase=1, max_phase=1",
       {"A buffer of the block's shared memory, in elements of `element_ty`, for as long as the program runs.",
        Caller::Block},
       allocateRow});
  rows.push_back({"dl.smem_index",
                  "smem, index",
                  {"The part of the buffer at `index` of its first dimension.", Caller::Thread},
                  indexRow});
  rows.push_back({"dl.smem_load", "smem, indices", {"The element at `indices`.", Caller::Thread, "M3"}, loadRow});
  rows.push_back(
      {"dl.smem_store", "smem, value, indices", {"Writes the element at `indices`.", Caller::Thread, "M3"}, storeRow});
  rows.push_back({"dl.smem_get_ptr",
                  "smem, indices=None",
                  {"A pointer to the element at `indices`, or to the buffer.", Caller::Thread},
                  [](Context& c, const Arguments& a) -> Value { return address(c, a); }});
  rows.push_back(
      {"dl.get_smem_shared_address_u32",
       "smem, indices=None",
       {"The address within shared memory of the element at `indices`, or of the buffer, in bytes, a uint32.",
        Caller::Thread},
       sharedAddressRow});
  rows.push_back({"dl.smem_dealloc",
                  "smem",
                  {"Does nothing: buffers live until the program ends.", Caller::Thread},
                  deallocateRow});
}

}  // namespace tandem::frontend::builtin
