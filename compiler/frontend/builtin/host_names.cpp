// This table has the language's names for the functions and types of Python's math, of NumPy and of PyTorch.
#include "compiler/frontend/builtin/registry.h"
#include "tandem/element_types.h"
#include <map>

namespace tandem::frontend {
namespace {

// Names that differ from the language's.
const std::map<std::string_view, const char*>& synonyms() {
  static const std::map<std::string_view, const char*> table = {{"absolute", "tl.abs"},
                                                                {"acosh", "tl.extra.libdevice.acosh"},
                                                                {"amax", "tl.max"},
                                                                {"amin", "tl.min"},
                                                                {"arccos", "tl.extra.libdevice.acos"},
                                                                {"arcsin", "tl.extra.libdevice.asin"},
                                                                {"arctan", "tl.extra.libdevice.atan"},
                                                                {"arctan2", "tl.extra.libdevice.atan2"},
                                                                {"array", "tl.full"},
                                                                {"bool_", "tl.int1"},
                                                                {"clip", "tl.clamp"},
                                                                {"concatenate", "tl.cat"},
                                                                {"double", "tl.float64"},
                                                                {"empty", "tl.zeros"},
                                                                {"fabs", "tl.abs"},
                                                                {"float", "tl.float32"},
                                                                {"fmax", "tl.maximum"},
                                                                {"fmin", "tl.minimum"},
                                                                {"half", "tl.float16"},
                                                                {"int", "tl.int32"},
                                                                {"int_", "tl.int64"},
                                                                {"long", "tl.int64"},
                                                                {"matmul", "tl.dot"},
                                                                {"mm", "tl.dot"},
                                                                {"bmm", "tl.dot"},
                                                                {"ones", "tl.full"},
                                                                {"power", "tl.extra.libdevice.pow"},
                                                                {"short", "tl.int16"},
                                                                {"single", "tl.float32"},
                                                                {"stack", "tl.join"},
                                                                {"transpose", "tl.trans"},
#define TANDEM_ROW(dtype, scalar, elem, mlirType, word, tl, framework, bits, mantissa, bias, specials, dlpack) \
  {framework, "tl." tl},
                                                                TANDEM_ELEMENT_TYPES(TANDEM_ROW)
#undef TANDEM_ROW
  };
  return table;
}

// Names that stand in the table to say that kernels have no such thing.
bool isUsable(const std::string& canonical) {
  if (const Builtin* b = findBuiltin(canonical)) return b->signature != "*args, **kwargs";
  return findConstant(canonical) || findLibraryFunction(canonical);
}

}  // namespace

std::string hintForHostName(const std::string& name) {
  auto found = synonyms().find(name);
  if (found != synonyms().end()) return "use `" + std::string(found->second) + "`";
  for (const char* module : {"tl.", "tl.extra.libdevice."})
    if (isUsable(module + name)) return "use `" + (module + name) + "`";
  return "";
}

}  // namespace tandem::frontend
