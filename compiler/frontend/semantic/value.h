// A Value is a Python expression of a kernel while it is compiled: a tensor (an SSA value with Triton's type), or a
// constant of compile time. Everything that is not a Tensor is a constexpr.
#pragma once
#include "compiler/frontend/ast/ast.h"
#include "tandem/element_types.h"
#include <map>
#include <memory>
#include <mlir/IR/Builders.h>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tandem::frontend {

// Triton's scalar types. Signedness lives here, not in MLIR's types.
enum class Scalar : uint8_t {
  Void,
#define TANDEM_ROW(dtype, scalar, ...) scalar,
  TANDEM_ELEMENT_TYPES(TANDEM_ROW)
#undef TANDEM_ROW
      Fp8E4B15  // kernels may name it, and do nothing with it
};
constexpr size_t kScalars = size_t(Scalar::Fp8E4B15) + 1;

// A scalar type, or a pointer (to a pointer ...) to one.
struct DType {
  Scalar scalar = Scalar::Void;
  uint8_t pointerDepth = 0;
  bool isConst = false;  // a pointer (the outermost) that nothing is written through: `tl.const`

  bool operator==(const DType&) const = default;
  bool isPointer() const { return pointerDepth > 0; }
  bool isInt() const { return !isPointer() && scalar >= Scalar::Int1 && scalar <= Scalar::UInt64; }
  bool isBool() const { return !isPointer() && scalar == Scalar::Int1; }
  bool isSigned() const { return isInt() && scalar >= Scalar::Int8 && scalar <= Scalar::Int64; }
  bool isUnsigned() const { return isInt() && (scalar >= Scalar::UInt8 || scalar == Scalar::Int1); }
  bool isFloat() const { return !isPointer() && scalar >= Scalar::Fp8E4NV; }
  bool isFp8() const { return isFloat() && bitWidth() == 8; }
  int bitWidth() const;      // 64 for pointers, 1 for int1
  int mantissaBits() const;  // floats: explicit bits (fp16 10, bf16 7, fp32 23, ...)
  int exponentBias() const;  // floats: fp16 15, bf16 127, ...
  // Triton's word: "int1", "uint8", "fp16", "bf16", "fp8e4nv", "pointer<fp16>", "const_pointer<fp16>"
  std::string name() const;
  DType pointee() const { return {scalar, uint8_t(pointerDepth - 1)}; }
  DType pointerTo() const { return {scalar, uint8_t(pointerDepth + 1)}; }
  DType withPointee(DType element) const { return {element.scalar, uint8_t(element.pointerDepth + 1), isConst}; }
  // "fp16", "i32", "int32", "u8", "uint8", "bf16", "*fp16", "*kfp16", "fp8e4nv", ... Nothing when unknown.
  static std::optional<DType> parse(std::string_view word);
  mlir::Type toMLIR(mlir::MLIRContext*) const;
};

// A tensor's type. An empty shape is a scalar. vectorLength > 0 is a per-thread SIMT vector (no shape then).
struct Type {
  DType dtype;
  std::vector<int64_t> shape;
  uint32_t vectorLength = 0;

  bool operator==(const Type&) const = default;
  bool isScalar() const { return shape.empty() && vectorLength == 0; }
  bool isTile() const { return !shape.empty(); }
  bool isVector() const { return vectorLength > 0; }
  int64_t numel() const;
  std::string name() const;  // "int32", "<['64', '32'], fp16>" in Triton; ours: "fp16[64, 32]", "vector<4xint32>"
  mlir::Type toMLIR(mlir::MLIRContext*) const;
};

struct Tensor {
  mlir::Value value;
  Type type;
};

using Int = __int128;  // Python integers of kernels: 64-bit signed and unsigned, and room to see overflow
class Value;

struct None {
  bool operator==(const None&) const = default;
};
struct EllipsisValue {
  bool operator==(const EllipsisValue&) const = default;
};
struct Tuple {  // also lists; `names` for named tuples
  std::vector<Value> elements;
  std::vector<std::string> names;
  bool isList = false;
  bool isDictionary = false;  // `elements` are pairs of key and value
};
struct SliceValue {
  std::shared_ptr<Value> lower, upper, step;
};
// `tl.range` takes these beside its bounds; they are for the compiler.
inline constexpr const char* kRangeHints[] = {"num_stages", "loop_unroll_factor", "disallow_acc_multi_buffer",
                                              "flatten",    "warp_specialize",    "disable_licm"};
// range(...), tl.range(...), tl.static_range(...).
struct RangeValue {
  std::shared_ptr<Value> start, stop, step;
  bool isStatic = false;
  std::map<std::string, Value> hints;  // by the names of kRangeHints
};
// tl.make_block_ptr(...): a block of a strided tensor; `advance` gives another with other offsets.
struct BlockPointer {
  Tensor base;
  std::vector<Tensor> shape, strides;  // int64 scalars
  std::vector<Tensor> offsets;         // int32 scalars
  std::vector<int64_t> blockShape, order;
};
// tl.make_tensor_descriptor(...) or a host-side descriptor argument.
struct Descriptor {
  Tensor base;
  std::vector<Tensor> shape, strides;  // int32 shape, int64 strides (scalars), as Triton's attributes give them
  std::vector<int64_t> blockShape;
  bool nanPadding = false;
};
struct SmemBuffer {
  mlir::Value value;
  DType dtype;
  std::vector<int64_t> shape;
};
struct Function;        // a jit or constexpr function with source (emit/function.h)
struct AggregateClass;  // a class under @aggregate
struct Aggregate {
  std::shared_ptr<const AggregateClass> type;
  std::map<std::string, Value> fields;
};
struct Builtin;      // an entry of the builtin table (builtin/registry.h)
struct Namespace {   // a module, ours ("tl", "tl.math", "libshmem_device") or a bag of resolved attributes
  std::string name;  // canonical for ours, else as written
  bool ours = false;
  bool isType = false;  // the value of `x.type` for a tile or a constant
  std::map<std::string, Value> attributes;
};
struct BoundMethod {
  std::shared_ptr<Value> self;
  std::string name;
};  // x.to, desc.load, aggregate methods
// A Python object that kernels cannot use; using it is an error that names it, with a hint at a replacement.
struct Foreign {
  std::string description, hint = {};
};

class Value
    : public std::variant<None, EllipsisValue, bool, Int, double, std::string, DType, Tensor, std::shared_ptr<Tuple>,
                          SliceValue, std::shared_ptr<RangeValue>, std::shared_ptr<BlockPointer>,
                          std::shared_ptr<Descriptor>, std::shared_ptr<SmemBuffer>, std::shared_ptr<const Function>,
                          std::shared_ptr<const AggregateClass>, std::shared_ptr<Aggregate>, const Builtin*,
                          std::shared_ptr<Namespace>, BoundMethod, Foreign> {
 public:
  using variant::variant;
  template <class T> bool is() const { return std::holds_alternative<T>(*this); }
  template <class T> const T& as() const { return std::get<T>(*this); }
  template <class T> T& as() { return std::get<T>(*this); }
  bool isNone() const { return is<None>(); }
  bool isTensor() const { return is<Tensor>(); }
  bool isNumber() const { return is<bool>() || is<Int>() || is<double>(); }  // a Python number (constexpr)
  bool isTuple() const { return is<std::shared_ptr<Tuple>>(); }
  const std::vector<Value>& elements() const { return *&as<std::shared_ptr<Tuple>>()->elements; }
};

Value makeTuple(std::vector<Value> elements);
// Returns the value's description for error messages: "`int32` tensor", "constexpr 64", "module `os`", "function
// `foo`".
std::string describe(const Value& value);
// repr() of a constexpr, as f-strings, static_print and error messages show it.
std::string repr(const Value& value);

}  // namespace tandem::frontend
