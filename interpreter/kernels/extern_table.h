// A device-library function becomes a table entry like this: its C++ form, a lambda without captures, gives signature
// and loop.
#pragma once
#include "interpreter/kernels/loops.h"
#include <array>
#include <map>
#include <tuple>
#include <utility>

namespace tandem::interpreter {

struct ExternEntry {
  ExternSignature signature;
  ExternKernel kernel = nullptr;
};
using ExternTable = std::map<std::string, ExternEntry, std::less<>>;

template <class T> constexpr Elem elemOfType() {
  if constexpr (std::is_same_v<T, float>)
    return Elem::F32;
  else if constexpr (std::is_same_v<T, double>)
    return Elem::F64;
  else if constexpr (sizeof(T) == 2)
    return Elem::I16;
  else
    return sizeof(T) == 8 ? Elem::I64 : Elem::I32;
}

template <class F, class R, class... A, size_t... i>
void externLoop(const void* const* operands, void* out, size_t n, std::index_sequence<i...>) {
  std::array<StableInput, sizeof...(A)> stable{StableInput(operands[i], n * sizeof(A), out, n * sizeof(R))...};
  std::tuple<const A*...> inputs{static_cast<const A*>(stable[i].data())...};
  auto* o = static_cast<R*>(out);
#pragma clang loop vectorize(assume_safety)
  for (size_t at = 0; at < n; ++at) o[at] = F{}(std::get<i>(inputs)[at]...);
}

template <class F, class R, class... A> ExternEntry externEntry(R (F::*)(A...) const) {
  ExternKernel kernel = [](const void* const* operands, void* out, size_t n) {
    externLoop<F, R, A...>(operands, out, n, std::index_sequence_for<A...>{});
  };
  return {{{elemOfType<A>()...}, elemOfType<R>()}, kernel};
}

// `__nv_<name>`
template <class F> void addExtern(ExternTable& table, const std::string& name, F) {
  table["__nv_" + name] = externEntry<F>(&F::operator());
}

// A function of one, two, three floats, as `__nv_<name>` on doubles and `__nv_<name>f` on floats.
template <class F> struct OnFloats {
  template <class T> struct One {
    T operator()(T a) const { return F{}(a); }
  };
  template <class T> struct Two {
    T operator()(T a, T b) const { return F{}(a, b); }
  };
  template <class T> struct Three {
    T operator()(T a, T b, T c) const { return F{}(a, b, c); }
  };
};
template <class F> void addUnary(ExternTable& table, const std::string& name, F) {
  addExtern(table, name, typename OnFloats<F>::template One<double>{});
  addExtern(table, name + "f", typename OnFloats<F>::template One<float>{});
}
template <class F> void addBinary(ExternTable& table, const std::string& name, F) {
  addExtern(table, name, typename OnFloats<F>::template Two<double>{});
  addExtern(table, name + "f", typename OnFloats<F>::template Two<float>{});
}
template <class F> void addTernary(ExternTable& table, const std::string& name, F) {
  addExtern(table, name, typename OnFloats<F>::template Three<double>{});
  addExtern(table, name + "f", typename OnFloats<F>::template Three<float>{});
}

// The three parts of the table.
void addFloatExterns(ExternTable& table);
void addIntegerExterns(ExternTable& table);
void addRoundingExterns(ExternTable& table);

}  // namespace tandem::interpreter
