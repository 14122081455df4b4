/* How a wait compares a signal with a value: X(C++ name, C and NVSHMEM name, word, sign), one row each. A
 * comparison's number is its row's, which is NVSHMEM's. */
#ifndef TANDEM_COMPARE_H
#define TANDEM_COMPARE_H
#include <stdint.h>

#define TANDEM_COMPARISONS(X) \
  X(Eq, EQ, "eq", ==)         \
  X(Ne, NE, "ne", !=)         \
  X(Gt, GT, "gt", >)          \
  X(Le, LE, "le", <=)         \
  X(Lt, LT, "lt", <)          \
  X(Ge, GE, "ge", >=)

/* TD_COMPARE_EQ, ...; TD_COMPARE_COUNT is how many there are. */
enum td_compare {
#define TANDEM_ROW(name, c_name, word, sign) TD_COMPARE_##c_name,
  TANDEM_COMPARISONS(TANDEM_ROW)
#undef TANDEM_ROW
      TD_COMPARE_COUNT
};

#ifdef __cplusplus
namespace tandem {

enum class Compare : uint8_t {
#define TANDEM_ROW(name, c_name, word, sign) name = TD_COMPARE_##c_name,
  TANDEM_COMPARISONS(TANDEM_ROW)
#undef TANDEM_ROW
};

// "eq"
constexpr const char* wordOf(Compare compare) {
  switch (compare) {
#define TANDEM_ROW(name, c_name, word, sign) \
  case Compare::name: return word;
    TANDEM_COMPARISONS(TANDEM_ROW)
#undef TANDEM_ROW
  }
  return "?";
}

// "=="
constexpr const char* signOf(Compare compare) {
  switch (compare) {
#define TANDEM_ROW(name, c_name, word, sign) \
  case Compare::name: return #sign;
    TANDEM_COMPARISONS(TANDEM_ROW)
#undef TANDEM_ROW
  }
  return "?";
}

// Signals are signed.
constexpr bool holds(Compare compare, int64_t seen, int64_t value) {
  switch (compare) {
#define TANDEM_ROW(name, c_name, word, sign) \
  case Compare::name: return seen sign value;
    TANDEM_COMPARISONS(TANDEM_ROW)
#undef TANDEM_ROW
  }
  return false;
}

}  // namespace tandem
#endif
#endif
