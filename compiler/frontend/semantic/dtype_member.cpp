// The table of a type's members.
#include "compiler/frontend/semantic/dtype_member.h"

namespace tandem::frontend {
namespace {

enum Signedness : int8_t { Signed, Unsigned };       // tl.dtype.SIGNEDNESS
enum Kind : int8_t { Boolean, Integral, Floating };  // tl.dtype.KIND

using Answer = std::optional<Value>;

Answer kindOf(DType d) {
  if (d.isFloat()) return Int(Floating);
  if (!d.isInt()) return {};
  return Int(d.isBool() ? Boolean : Integral);
}

Int powerOf2(int exponent) { return Int(1) << exponent; }

Answer largest(DType d) {
  if (!d.isInt()) return {};
  return powerOf2(d.isSigned() ? d.bitWidth() - 1 : d.bitWidth()) - 1;
}

Answer least(DType d) {
  if (!d.isInt()) return {};
  return d.isSigned() ? -powerOf2(d.bitWidth() - 1) : Int(0);
}

Answer codeName(DType d) {
  std::string name = d.name();
  if (name.starts_with("fp")) return "float" + name.substr(2);
  return name.starts_with("bf") ? "bfloat" + name.substr(2) : name;
}

int bitsOf(DType d) { return d == DType{Scalar::Void} ? 0 : d.bitWidth(); }

std::vector<DTypeMember> makeMembers() {
  auto onInts = [](Answer (*f)(DType)) { return [f](DType d) { return d.isInt() ? f(d) : Answer(); }; };
  auto onFloats = [](Answer (*f)(DType)) { return [f](DType d) { return d.isFloat() ? f(d) : Answer(); }; };
  std::vector<DTypeMember> members = {
      {"name", false, [](DType d) -> Answer { return d.name(); }},
      {"primitive_bitwidth", false, [](DType d) -> Answer { return Int(bitsOf(d)); }},
      {"itemsize", false, [](DType d) -> Answer { return Int((bitsOf(d) + 7) / 8); }},
      {"int_bitwidth", false, onInts([](DType d) -> Answer { return Int(d.bitWidth()); })},
      {"int_signedness", false, onInts([](DType d) -> Answer { return Int(d.isSigned() ? Signed : Unsigned); })},
      {"fp_mantissa_width", false, onFloats([](DType d) -> Answer { return Int(d.mantissaBits()); })},
      {"exponent_bias", false, onFloats([](DType d) -> Answer { return Int(d.exponentBias()); })},
      {"kind", true, kindOf},
      {"get_int_max_value", true, largest},
      {"get_int_min_value", true, least},
      {"codegen_name", true, codeName},
      {"is_ptr", true, [](DType d) -> Answer { return d.isPointer(); }},
      {"is_const", true, [](DType d) -> Answer { return d.isConst; }},
      {"is_block", true, [](DType) -> Answer { return false; }},
      {"is_int", true, [](DType d) -> Answer { return d.isInt(); }},
      {"is_bool", true, [](DType d) -> Answer { return d.isBool(); }},
      {"is_int_signed", true, [](DType d) -> Answer { return d.isSigned(); }},
      {"is_int_unsigned", true, [](DType d) -> Answer { return d.isUnsigned(); }},
      {"is_floating", true, [](DType d) -> Answer { return d.isFloat(); }},
      {"is_standard_floating", true, [](DType d) -> Answer { return d.isFloat() && !d.isFp8(); }},
      {"is_fp8", true, [](DType d) -> Answer { return d.isFp8(); }},
  };
  for (size_t s = 0; s < kScalars; ++s) {
    DType asked{Scalar(s)};
    members.push_back({"is_" + asked.name(), true, [asked](DType d) -> Answer { return d == asked; }});
  }
  return members;
}

}  // namespace

const std::vector<DTypeMember>& dtypeMembers() {
  static const std::vector<DTypeMember> members = makeMembers();
  return members;
}

const DTypeMember* findDTypeMember(std::string_view name) {
  for (const DTypeMember& member : dtypeMembers())
    if (member.name == name) return &member;
  return nullptr;
}

}  // namespace tandem::frontend
