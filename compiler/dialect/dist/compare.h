// Comparisons of the dialect and those of the interpreter, the runtime and the host are converted by name.
#pragma once
#include "compiler/dialect/dist/dist.h"
#include "tandem/compare.h"

namespace tandem::dist {

static_assert(getMaxEnumValForCompare() + 1 == TD_COMPARE_COUNT);

inline tandem::Compare compareOf(Compare compare) {
  switch (compare) {
#define TANDEM_ROW(name, c_name, word, sign) \
  case Compare::name: return tandem::Compare::name;
    TANDEM_COMPARISONS(TANDEM_ROW)
#undef TANDEM_ROW
  }
  return {};
}

inline Compare compareOf(tandem::Compare compare) {
  switch (compare) {
#define TANDEM_ROW(name, c_name, word, sign) \
  case tandem::Compare::name: return Compare::name;
    TANDEM_COMPARISONS(TANDEM_ROW)
#undef TANDEM_ROW
  }
  return {};
}

}  // namespace tandem::dist
