// The device library's functions with a rounding mode in their name (_rn, _rz, _rd, _ru), run under that mode of the
// processor.
#include "interpreter/kernels/extern_table.h"
#include "interpreter/kernels/saturate.h"
#include <cfenv>

namespace tandem::interpreter {
namespace {

// Sets the mode for its lifetime.
class RoundingScope {
 public:
  explicit RoundingScope(int mode) : before_(std::fegetround()) { std::fesetround(mode); }
  ~RoundingScope() { std::fesetround(before_); }
  RoundingScope(const RoundingScope&) = delete;
  RoundingScope& operator=(const RoundingScope&) = delete;

 private:
  int before_;
};

// f(args...) under the mode. The volatile copies keep the compiler from moving the operation out of the scope.
template <int mode, class F, class... A> auto rounded(F f, A... args) {
  using Result = decltype(f(args...));
  std::tuple<volatile A...> pinned{args...};
  RoundingScope scope(mode);
  volatile Result result =
      std::apply([&f](const volatile A&... operands) { return f(static_cast<A>(operands)...); }, pinned);
  return static_cast<Result>(result);
}

template <int mode, class T> T fusedUnder(T a, T b, T c) {
  return rounded<mode>([](T x, T y, T z) { return std::fma(x, y, z); }, a, b, c);
}

template <int mode> void addArithmetic(ExternTable& t, const std::string& suffix) {
  auto both = [&]<class T>(T, const std::string& prefix) {
    addExtern(t, prefix + "add" + suffix, [](T a, T b) { return rounded<mode>([](T x, T y) { return x + y; }, a, b); });
    addExtern(t, prefix + "sub" + suffix, [](T a, T b) { return rounded<mode>([](T x, T y) { return x - y; }, a, b); });
    addExtern(t, prefix + "mul" + suffix, [](T a, T b) { return rounded<mode>([](T x, T y) { return x * y; }, a, b); });
    addExtern(t, prefix + "div" + suffix, [](T a, T b) { return rounded<mode>([](T x, T y) { return x / y; }, a, b); });
    addExtern(t, prefix + "rcp" + suffix, [](T a) { return rounded<mode>([](T x) { return T{1} / x; }, a); });
    addExtern(t, prefix + "sqrt" + suffix, [](T a) { return rounded<mode>([](T x) { return std::sqrt(x); }, a); });
  };
  both(float{}, "f");
  both(double{}, "d");
  addExtern(t, "fma" + suffix, [](double a, double b, double c) { return fusedUnder<mode>(a, b, c); });
  for (const char* name : {"fmaf", "fmaf_ieee"})
    addExtern(t, name + suffix, [](float a, float b, float c) { return fusedUnder<mode>(a, b, c); });
}

// Rounds to a whole number by the mode, then saturates.
template <int mode, class I, bool isSigned, class T> auto wholeUnder(T x) {
  return FloatToInt<T, I, isSigned>::apply(rounded<mode>([](T v) { return std::nearbyint(v); }, x));
}

template <int mode, class T> void addToInteger(ExternTable& t, const std::string& from, const std::string& suffix) {
  addExtern(t, from + "2int" + suffix, [](T x) { return wholeUnder<mode, Int32, true>(x); });
  addExtern(t, from + "2uint" + suffix, [](T x) { return wholeUnder<mode, Int32, false>(x); });
  addExtern(t, from + "2ll" + suffix, [](T x) { return wholeUnder<mode, Int64, true>(x); });
  addExtern(t, from + "2ull" + suffix, [](T x) { return wholeUnder<mode, Int64, false>(x); });
}

// Rounding down may give -0 for 0 where the processor converts by a subtraction.
template <int mode, class T, class I> T floatUnder(I x) {
  T value = rounded<mode>([](I v) { return static_cast<T>(v); }, x);
  return x == 0 ? T{0} : value;
}

template <int mode, class T> void addFromInteger(ExternTable& t, const std::string& to, const std::string& suffix) {
  addExtern(t, "int2" + to + suffix, [](int32_t x) { return floatUnder<mode, T>(x); });
  addExtern(t, "uint2" + to + suffix, [](uint32_t x) { return floatUnder<mode, T>(x); });
  addExtern(t, "ll2" + to + suffix, [](int64_t x) { return floatUnder<mode, T>(x); });
  addExtern(t, "ull2" + to + suffix, [](uint64_t x) { return floatUnder<mode, T>(x); });
}

template <int mode> void addMode(ExternTable& t, const std::string& suffix) {
  addArithmetic<mode>(t, suffix);
  addToInteger<mode, float>(t, "float", suffix);
  addToInteger<mode, double>(t, "double", suffix);
  addFromInteger<mode, float>(t, "float", suffix);
  addFromInteger<mode, double>(t, "double", suffix);
  addExtern(t, "double2float" + suffix,
            [](double x) { return rounded<mode>([](double v) { return static_cast<float>(v); }, x); });
}

}  // namespace

void addRoundingExterns(ExternTable& t) {
  addMode<FE_TONEAREST>(t, "_rn");
  addMode<FE_TOWARDZERO>(t, "_rz");
  addMode<FE_DOWNWARD>(t, "_rd");
  addMode<FE_UPWARD>(t, "_ru");
  // An int fits a double: libdevice has these under one name only.
  for (const char* type : {"int", "uint"})
    for (const char* suffix : {"_rz", "_rd", "_ru"}) t.erase(std::string("__nv_") + type + "2double" + suffix);
  addExtern(t, "frsqrt_rn", [](float x) { return static_cast<float>(1.0 / std::sqrt(static_cast<double>(x))); });
}

}  // namespace tandem::interpreter
