// Members of a type, under Triton's names: `x.dtype.primitive_bitwidth`, `tl.int8.is_int()`.
#pragma once
#include "compiler/frontend/semantic/value.h"
#include <functional>

namespace tandem::frontend {

struct DTypeMember {
  std::string name;
  bool isMethod;                                  // of no arguments
  std::function<std::optional<Value>(DType)> of;  // nothing: types of this kind have no such member
};

const std::vector<DTypeMember>& dtypeMembers();
const DTypeMember* findDTypeMember(std::string_view name);

}  // namespace tandem::frontend
