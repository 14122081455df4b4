// These rows have the scalar types as constants, their attributes and methods, and the way pointer types are made.
#include "compiler/frontend/builtin/operands.h"
#include "compiler/frontend/semantic/dtype_member.h"
#include "tandem/element_types.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static std::pair<std::string, Value> enumeration(const std::string& name, std::map<std::string, Value> members) {
  auto values = std::make_shared<Namespace>();
  values->name = name;
  values->attributes = std::move(members);
  return {name, values};
}

void addDTypeConstants(Constants& constants) {
#define TANDEM_ROW(dtype, scalar, elem, mlirType, word, tl, framework, bits, mantissa, bias, specials, dlpack) \
  constants.emplace_back(std::string("tl.") + tl, DType{Scalar::scalar});
  TANDEM_ELEMENT_TYPES(TANDEM_ROW)
#undef TANDEM_ROW
  constants.emplace_back("tl.void", DType{Scalar::Void});
  constants.emplace_back("tl.float8e4b15", DType{Scalar::Fp8E4B15});
  constants.emplace_back("tl.pi32_t", DType{Scalar::Int32, 1});
  constants.emplace_back("shmem.pi_u64_t", DType{Scalar::UInt64, 1});
  constants.emplace_back("shmem.pi_i64_t", DType{Scalar::Int64, 1});
  constants.emplace_back("shmem.void_ptr", DType{Scalar::Void, 1});
  constants.emplace_back("tl.TRITON_MAX_TENSOR_NUMEL", Int(1048576));
  constants.emplace_back("tl.CONSTEXPR_0", Int(0));
  constants.push_back(enumeration("tl.PropagateNan", {{"NONE", Int(0)}, {"ALL", Int(0xFFFF)}}));
  constants.push_back(enumeration("tl.dtype.SIGNEDNESS", {{"SIGNED", Int(0)}, {"UNSIGNED", Int(1)}}));
  constants.push_back(enumeration("tl.dtype.KIND", {{"BOOLEAN", Int(0)}, {"INTEGRAL", Int(1)}, {"FLOATING", Int(2)}}));
  constants.emplace_back("tl.PropagateNan.NONE", Int(0));
  constants.emplace_back("tl.PropagateNan.ALL", Int(0xFFFF));
}

static Value pointerType(Context& c, const Arguments& a) {
  DType pointer = constexprDType(c, a["element_ty"], "element_ty").pointerTo();
  pointer.isConst = constexprBool(c, a["const"], "const");
  return pointer;
}

static Value dtypeOf(Context& c, const Arguments& a) {
  std::string name = constexprString(c, a["name"], "name");
  std::optional<DType> dtype = DType::parse(name);
  if (!dtype) c.fail("argument-value", "`" + name + "` is no scalar type");
  return *dtype;
}

static Builtin question(const DTypeMember& member) {
  return {"tl.dtype." + member.name,
          "self",
          {"A fact about the type.", Caller::Compiler},
          [&member](Context& c, const Arguments& a) -> Value {
            DType dtype = constexprDType(c, a["self"], "self");
            std::optional<Value> answer = member.of(dtype);
            if (!answer) c.fail("type", "type `" + dtype.name() + "` has no `" + member.name + "`");
            return *answer;
          }};
}

void addDTypeRows(Rows& rows) {
  rows.push_back(
      {"tl.pointer_type",
       "element_ty, address_space=1, const=False",
       {"The type of pointers to `element_ty`; with `const` nothing is written through them.", Caller::Compiler},
       pointerType});
  rows.push_back({"tl.dtype", "name", {"The type that a word names.", Caller::Compiler}, dtypeOf});
  rows.push_back({"tl.str_to_ty", "name, c=None", {"The type that a word names.", Caller::Compiler}, dtypeOf});
  rows.push_back({"tl.get_int_dtype",
                  "bitwidth, signed",
                  {"The type of integers of `bitwidth` bits.", Caller::Compiler},
                  [](Context& c, const Arguments& a) -> Value {
                    Int bits = constexprInt(c, a["bitwidth"], "bitwidth");
                    const char* sign = constexprBool(c, a["signed"], "signed") || bits == 1 ? "int" : "uint";
                    std::optional<DType> dtype = DType::parse(sign + std::to_string(int64_t(bits)));
                    if (!dtype) c.fail("argument-value", "there are no integers of " + repr(a["bitwidth"]) + " bits");
                    return *dtype;
                  }});
  rows.push_back({"tl.dtype.is_dtype",
                  "type_str",
                  {"True for the word of a type.", Caller::Compiler},
                  [](Context& c, const Arguments& a) -> Value {
                    std::optional<DType> dtype = DType::parse(constexprString(c, a["type_str"], "type_str"));
                    return dtype && dtype->name() == a["type_str"].as<std::string>();
                  }});
  for (const DTypeMember& member : dtypeMembers())
    if (member.isMethod) rows.push_back(question(member));
}

}  // namespace tandem::frontend::builtin
