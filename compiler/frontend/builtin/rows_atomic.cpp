// Atomic updates through pointers.
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

void addAtomicRows(Rows& rows) {
  for (const char* op : {"add", "and", "or", "xor", "xchg", "max", "min"})
    rows.push_back({std::string("tl.atomic_") + op, "pointer, val, mask=None, sem=None, scope=None",
                    [op = std::string(op)](Context& c, const Arguments& a) {
                      return atomicRmw(c, op, a["pointer"], a["val"], a["mask"], a["sem"], a["scope"]);
                    }});
  rows.push_back({"tl.atomic_cas", "pointer, cmp, val, sem=None, scope=None", [](Context& c, const Arguments& a) {
                    return atomicCas(c, a["pointer"], a["cmp"], a["val"], a["sem"], a["scope"]);
                  }});
}

}  // namespace tandem::frontend::builtin
