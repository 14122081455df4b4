// Atomic updates through pointers.
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

void addAtomicRows(Rows& rows) {
  static const std::pair<const char*, const char*> updates[] = {{"add", "Adds `val` to"},
                                                                {"and", "Keeps only the bits of `val` in"},
                                                                {"or", "Adds the bits of `val` to"},
                                                                {"xor", "Flips the bits of `val` in"},
                                                                {"xchg", "Writes `val` over"},
                                                                {"max", "Writes `val`, if larger, over"},
                                                                {"min", "Writes `val`, if smaller, over"}};
  for (auto [op, does] : updates)
    rows.push_back(
        {std::string("tl.atomic_") + op,
         "pointer, val, mask=None, sem=None, scope=None",
         {std::string(does) +
              " the value at `pointer` in one step, where `mask` is true. Returns the value from before. `sem` is acq_rel and "
              "`scope` gpu unless given.",
          Caller::Program, "M14"},
         [op = std::string(op)](Context& c, const Arguments& a) {
           return atomicRmw(c, op, a["pointer"], a["val"], a["mask"], a["sem"], a["scope"]);
         }});
  rows.push_back(
      {"tl.atomic_cas",
       "pointer, cmp, val, sem=None, scope=None",
       {"Writes `val` where the value is `cmp`, in one step. Returns the value from before. `sem` is acq_rel and `scope` "
        "gpu unless given.",
        Caller::Program, "M14"},
       [](Context& c, const Arguments& a) {
         return atomicCas(c, a["pointer"], a["cmp"], a["val"], a["sem"], a["scope"]);
       }});
}

}  // namespace tandem::frontend::builtin
