// Scalar types as constants, what they answer about themselves, and how pointer types are made.
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

void addDTypeConstants(Constants& constants) {
  static const std::pair<const char*, Scalar> names[] = {{"void", Scalar::Void},
                                                         {"int1", Scalar::Int1},
                                                         {"int8", Scalar::Int8},
                                                         {"int16", Scalar::Int16},
                                                         {"int32", Scalar::Int32},
                                                         {"int64", Scalar::Int64},
                                                         {"uint8", Scalar::UInt8},
                                                         {"uint16", Scalar::UInt16},
                                                         {"uint32", Scalar::UInt32},
                                                         {"uint64", Scalar::UInt64},
                                                         {"float8e4nv", Scalar::Fp8E4NV},
                                                         {"float8e4b8", Scalar::Fp8E4B8},
                                                         {"float8e4b15", Scalar::Fp8E4B15},
                                                         {"float8e5", Scalar::Fp8E5},
                                                         {"float8e5b16", Scalar::Fp8E5B16},
                                                         {"float16", Scalar::Fp16},
                                                         {"bfloat16", Scalar::Bf16},
                                                         {"float32", Scalar::Fp32},
                                                         {"float64", Scalar::Fp64}};
  for (const auto& [name, scalar] : names) constants.emplace_back(std::string("tl.") + name, DType{scalar});
  constants.emplace_back("tl.pi32_t", DType{Scalar::Int32, 1});
  constants.emplace_back("shmem.pi_u64_t", DType{Scalar::UInt64, 1});
  constants.emplace_back("shmem.pi_i64_t", DType{Scalar::Int64, 1});
  constants.emplace_back("shmem.void_ptr", DType{Scalar::Void, 1});
  constants.emplace_back("tl.TRITON_MAX_TENSOR_NUMEL", Int(1048576));
  auto propagate = std::make_shared<Namespace>();
  propagate->name = "tl.PropagateNan";
  propagate->attributes = {{"NONE", Int(0)}, {"ALL", Int(0xFFFF)}};
  constants.emplace_back("tl.PropagateNan", propagate);
  constants.emplace_back("tl.PropagateNan.NONE", Int(0));
  constants.emplace_back("tl.PropagateNan.ALL", Int(0xFFFF));
}

static Value pointerType(Context& c, const Arguments& a) {
  return constexprDType(c, a["element_ty"], "element_ty").pointerTo();
}

static Value dtypeOf(Context& c, const Arguments& a) {
  std::string name = constexprString(c, a["name"], "name");
  std::optional<DType> dtype = DType::parse(name);
  if (!dtype) c.fail("argument-value", "`" + name + "` is no scalar type");
  return *dtype;
}

static Builtin question(const std::string& name, std::function<bool(DType)> answer) {
  return {"tl.dtype." + name, "self", [answer = std::move(answer)](Context& c, const Arguments& a) -> Value {
            return answer(constexprDType(c, a["self"], "self"));
          }};
}

static Builtin isScalarType(const std::string& name, Scalar scalar) {
  return question(name, [scalar](DType d) { return d == DType{scalar}; });
}

void addDTypeRows(Rows& rows) {
  rows.push_back({"tl.pointer_type", "element_ty, address_space=1, const=False", pointerType});
  rows.push_back({"tl.dtype", "name", dtypeOf});
  rows.push_back({"tl.str_to_ty", "name, c=None", dtypeOf});
  static const std::pair<const char*, Scalar> types[] = {
      {"is_fp8e4nv", Scalar::Fp8E4NV}, {"is_fp8e4b8", Scalar::Fp8E4B8},   {"is_fp8e4b15", Scalar::Fp8E4B15},
      {"is_fp8e5", Scalar::Fp8E5},     {"is_fp8e5b16", Scalar::Fp8E5B16}, {"is_fp16", Scalar::Fp16},
      {"is_bf16", Scalar::Bf16},       {"is_fp32", Scalar::Fp32},         {"is_fp64", Scalar::Fp64},
      {"is_int1", Scalar::Int1},       {"is_int8", Scalar::Int8},         {"is_int16", Scalar::Int16},
      {"is_int32", Scalar::Int32},     {"is_int64", Scalar::Int64},       {"is_uint8", Scalar::UInt8},
      {"is_uint16", Scalar::UInt16},   {"is_uint32", Scalar::UInt32},     {"is_uint64", Scalar::UInt64},
      {"is_void", Scalar::Void}};
  for (const auto& [name, scalar] : types) rows.push_back(isScalarType(name, scalar));
  rows.push_back(question("is_fp8", [](DType d) { return d.isFp8(); }));
  rows.push_back(question("is_int", [](DType d) { return d.isInt(); }));
  rows.push_back(question("is_bool", [](DType d) { return d.isBool(); }));
  rows.push_back(question("is_int_signed", [](DType d) { return d.isSigned(); }));
  rows.push_back(question("is_int_unsigned", [](DType d) { return d.isUnsigned(); }));
  rows.push_back(question("is_floating", [](DType d) { return d.isFloat(); }));
  rows.push_back(question("is_standard_floating", [](DType d) { return d.isFloat() && !d.isFp8(); }));
  rows.push_back(question("is_ptr", [](DType d) { return d.isPointer(); }));
  rows.push_back(question("is_block", [](DType) { return false; }));
  rows.push_back(question("is_const", [](DType) { return false; }));
}

}  // namespace tandem::frontend::builtin
