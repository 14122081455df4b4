// atom and red: read, change and write at once, for all threads of the host that share the memory.
#include "emulator/instructions/families.h"
#include "emulator/instructions/integers.h"
#include "emulator/instructions/lanes.h"
#include "emulator/order/order.h"

namespace tandem::emulator {
namespace {

// Each gives the new value of the old one and the operands.
struct Add {
  template <class T> T operator()(T old, T b, T) const {
    if constexpr (isTwo<T>)
      return {(*this)(old.low, b.low, b.low), (*this)(old.high, b.high, b.high)};
    else if constexpr (isNarrow<T>)
      return T::of(float(old) + float(b));
    else if constexpr (std::is_integral_v<T>)
      return T(std::make_unsigned_t<T>(old) + std::make_unsigned_t<T>(b));
    else
      return old + b;
  }
};
struct Minimum {
  template <class T> T operator()(T old, T b, T) const {
    if constexpr (isTwo<T>)
      return {(*this)(old.low, b.low, b.low), (*this)(old.high, b.high, b.high)};
    else
      return b < old ? b : old;
  }
};
struct Maximum {
  template <class T> T operator()(T old, T b, T) const {
    if constexpr (isTwo<T>)
      return {(*this)(old.low, b.low, b.low), (*this)(old.high, b.high, b.high)};
    else
      return old < b ? b : old;
  }
};
template <class F>
struct OfTwo {
  template <class T> T operator()(T old, T b, T) const { return F()(old, b); }
};
struct Exchange {
  template <class T> T operator()(T, T b, T) const { return b; }
};
struct CompareAndSwap {
  template <class T> T operator()(T old, T b, T c) const { return old == b ? c : old; }
};
struct Increment {
  template <class T> T operator()(T old, T b, T) const { return old >= b ? 0 : old + 1; }
};
struct Decrement {
  template <class T> T operator()(T old, T b, T) const { return old == 0 || old > b ? b : old - 1; }
};

template <class T> using Word =
    std::conditional_t<sizeof(T) == 2, uint16_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint64_t>>;

template <class T, class F>
T change(std::byte* at, T b, T c) {
  auto* word = reinterpret_cast<Word<T>*>(at);
  Word<T> old = __atomic_load_n(word, __ATOMIC_RELAXED);
  while (!__atomic_compare_exchange_n(word, &old, std::bit_cast<Word<T>>(F()(std::bit_cast<T>(old), b, c)), true,
                                      __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)) {
  }
  return std::bit_cast<T>(old);
}

// `count` parts, each changed by itself; the list has their results (unless it is a `red`), operands, second operands.
template <class T, class F>
Outcome atomic(Warp& warp, const Instruction& in, Mask active) {
  const unsigned count = in.count;
  const bool hasResult = in.slots[1];
  Order* order = warp.order();
  eachLane(active, [&](unsigned lane) {
    uint64_t address = warp.lanes(in.slots[0])[lane] + uint64_t(in.immediate);
    std::byte* at = warp.reach(Space(in.form), address, sizeof(T) * count, sizeof(T) * count, lane);
    if (order) order->access(warp, in, lane, at, sizeof(T) * count, Access::Write, nullptr, true);
    for (unsigned i = 0; i < count; ++i) {
      T b = warp.get<T>(in.list[count + i], lane), c = warp.get<T>(in.list[2 * count + i], lane);
      T old = change<T, F>(at + i * sizeof(T), b, c);
      if (hasResult) put(warp, in.list[i], lane, old);
    }
  });
  return Outcome::Next;
}

template <class F>
Handler ofNumbers(Type type) {
  switch (type) {
    case Type::F32: return atomic<float, F>;
    case Type::F64: return atomic<double, F>;
    case Type::F16: return atomic<Half, F>;
    case Type::BF16: return atomic<Brain, F>;
    case Type::F16x2: return atomic<Two<Half>, F>;
    case Type::BF16x2: return atomic<Two<Brain>, F>;
    default:
      return withInteger(type, []<class T>() -> Handler {
        if constexpr (sizeof(T) >= 4) return atomic<T, F>;
        return nullptr;
      });
  }
}

template <class F>
Handler ofBits(Type type) {
  return withInteger(type, []<class T>() -> Handler {
    if constexpr (std::is_unsigned_v<T> && sizeof(T) >= 2) return atomic<T, F>;
    return nullptr;
  });
}

Handler handlerOf(Decoder& d, Type type) {
  if (d.take("add")) return ofNumbers<Add>(type);
  if (d.take("min")) return ofNumbers<Minimum>(type);
  if (d.take("max")) return ofNumbers<Maximum>(type);
  if (d.take("and")) return ofBits<OfTwo<And>>(type);
  if (d.take("or")) return ofBits<OfTwo<Or>>(type);
  if (d.take("xor")) return ofBits<OfTwo<Xor>>(type);
  if (d.take("exch")) return ofBits<Exchange>(type);
  if (d.take("cas")) return ofBits<CompareAndSwap>(type);
  if (d.take("inc")) return ofBits<Increment>(type);
  return d.take("dec") ? ofBits<Decrement>(type) : nullptr;
}

std::vector<Operand> partsOf(const Operand& operand) {
  return operand.kind == Operand::Kind::Vector ? operand.parts : std::vector<Operand>{operand};
}

// atom d, [a], b[, c][, policy]; red [a], b[, policy]
template <bool kHasResult>
void form(Decoder& d) {
  d.ignore({"relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys", "noftz", "async"});
  d.takeAfter("L2::");
  d.out.form = uint16_t(d.takeSpace());
  unsigned parts = d.take("v2") ? 2 : d.take("v4") ? 4 : d.take("v8") ? 8 : 1;
  Type type = d.takeType();
  size_t first = kHasResult ? 1 : 0;
  AddressSlot address = d.address(first);
  bool isSwap = d.has("cas");
  d.out.handler = handlerOf(d, type);
  d.out.slots[0] = address.base;
  d.out.immediate = address.offset;
  d.out.slots[1] = kHasResult;
  d.out.count = uint8_t(parts);
  std::vector<Slot> list;
  for (const Operand& part : partsOf(d.operand(0)))
    if (kHasResult) list.push_back(d.write(part));
  list.resize(parts);
  for (const Operand& part : partsOf(d.operand(first + 1))) list.push_back(d.read(part, type));
  for (const Operand& part : partsOf(d.operand(first + (isSwap ? 2 : 1)))) list.push_back(d.read(part, type));
  if (list.size() != 3 * parts) d.fail("it has another number of registers than parts");
  d.out.list = d.keep(std::move(list));
}

}  // namespace

std::span<const Family> atomicFamilies() {
  static constexpr Family kFamilies[] = {{"atom", form<true>}, {"red", form<false>}};
  return kFamilies;
}

}  // namespace tandem::emulator
