// Opcodes that integers and floating-point types share.
#include "emulator/instructions/families.h"
#include "emulator/instructions/integers.h"
#include "emulator/instructions/lanes.h"

namespace tandem::emulator {
namespace {

template <Handler (*ofIntegers)(Decoder&, Type)>
void arithmetic(Decoder& d) {
  if (d.has("cc")) return decodeCarrying(d);
  Type type = d.takeType();
  d.out.handler = isFloating(type) ? floatingForm(d, type) : ofIntegers(d, type);
  readOperands(d, type);
}

struct Difference {  // sad d, a, b, c: c + |a - b|
  template <class T> T operator()(T a, T b, T c) const { return T(c + (a < b ? b - a : a - b)); }
};

}  // namespace

std::span<const Family> arithmeticFamilies() {
  static constexpr Family kFamilies[] = {
      {"add", arithmetic<integerBinary>},
      {"sub", arithmetic<integerBinary>},
      {"min", arithmetic<integerBinary>},
      {"max", arithmetic<integerBinary>},
      {"div", arithmetic<integerBinary>},
      {"rem", arithmetic<integerBinary>},
      {"neg", arithmetic<integerUnary>},
      {"abs", arithmetic<integerUnary>},
      {"mul", arithmetic<integerProduct>},
      {"mad", arithmetic<integerProduct>},
      {"fma", arithmetic<integerProduct>},
      {"copysign", arithmetic<integerProduct>},
      {"sad",
       [](Decoder& d) {
         Type type = d.takeType();
         d.out.handler = withInteger(type, []<class T>() -> Handler { return ternary<T, Difference>; });
         readOperands(d, type);
       }},
  };
  return kFamilies;
}

}  // namespace tandem::emulator
