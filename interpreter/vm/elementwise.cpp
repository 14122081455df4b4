// Elementwise ops: one kernel call over all elements of the result. Knows no masks: inactive lanes compute too, and
// nobody looks.
#include "interpreter/vm/fail.h"
#include "interpreter/vm/handlers.h"
#include "interpreter/vm/registers.h"
#include <algorithm>

namespace tandem::interpreter {
namespace {

// The result's memory for an elementwise op: operand a's own buffer when nobody else reads it.
uint8_t* elementwiseResult(Machine& m, Run& run, const Prepared& i) {
  if (run.info(i.r).isInline) return reinterpret_cast<uint8_t*>(&run.slots[i.r].bits);
  uint64_t need = registerBytes(run, i.r);
  if (i.inPlace && run.parked.empty()) {
    Buffer* b = run.slots[i.a].buffer;
    if (b && b->references == 1 && b->bytes == need) {
      if (i.a != i.r) {
        m.pool.drop(run.slots[i.r].buffer);
        run.slots[i.r].buffer = b;
        run.slots[i.a].buffer = nullptr;
      }
      return b->data();
    }
  }
  return nullptr;
}

// Calls `body(out)` with memory for the result, then makes it the register's value.
template <class Body> Step elementwise(Machine& m, Run& run, const Prepared& i, Body body) {
  if (uint8_t* out = elementwiseResult(m, run, i)) {
    body(out);
    return Step::Next;
  }
  Result result(m, run, i.r);
  body(result.data());
  result.commit();
  return Step::Next;
}

}  // namespace

namespace handlers {

Step constant(Machine& m, Run& run, const Prepared& i) {
  if (run.info(i.r).isInline) {
    run.slots[i.r].bits = uint64_t(i.as<imm::Constant>().bits);
    return Step::Next;
  }
  Result result(m, run, i.r);
  if (i.immediateCount > 1 && i.as<imm::Constant>().isOffset) {
    memcpy(result.data(), run.prepared->program->constantBytes.data() + i.as<imm::Constant>().bits,
           registerBytes(run, i.r));
  } else {
    splat(&i.as<imm::Constant>().bits, result.data(), run.count(i.r), run.info(i.r).elemBytes);
  }
  result.commit();
  return Step::Next;
}

Step copy(Machine& m, Run& run, const Prepared& i) {
  if (i.a == i.r) return Step::Next;
  if (run.info(i.r).isInline) {
    run.slots[i.r].bits = run.slots[i.a].bits;
    return Step::Next;
  }
  data(m, run, i.a);
  Buffer* b = run.slots[i.a].buffer;
  ++b->references;
  setBuffer(m, run, i.r, b);
  return Step::Next;
}

Step maskedCopy(Machine& m, Run& run, const Prepared& i) {
  if (run.mask.all) return copy(m, run, i);
  if (i.a == i.r) return Step::Next;
  const uint8_t* from = data(m, run, i.a);
  const uint8_t* before = data(m, run, i.r);
  size_t bytes = size_t(run.info(i.r).elemBytes) * run.info(i.r).vectorLength;
  Result result(m, run, i.r);
  memcpy(result.data(), before, registerBytes(run, i.r));
  for (uint32_t lane = 0; lane < run.lanes; ++lane)
    if (run.mask.bytes[lane]) memcpy(result.data() + lane * bytes, from + lane * bytes, bytes);
  result.commit();
  return Step::Next;
}

Step splatOp(Machine& m, Run& run, const Prepared& i) {
  const RegisterInfo& to = run.info(i.r);
  uint64_t one = uint64_t(run.info(i.a).count) * run.info(i.a).elemBytes;  // a vector is splat as a whole
  const uint8_t* from = data(m, run, i.a);
  Result result(m, run, i.r);
  if (one == to.elemBytes)
    splat(from, result.data(), run.count(i.r), to.elemBytes);
  else
    for (uint64_t at = 0; at + one <= registerBytes(run, i.r); at += one) memcpy(result.data() + at, from, one);
  result.commit();
  return Step::Next;
}

Step unaryOp(Machine& m, Run& run, const Prepared& i) {
  const uint8_t* a = data(m, run, i.a);
  return elementwise(m, run, i, [&](void* out) { i.kernel.unary(a, out, run.count(i.r)); });
}

Step binaryOp(Machine& m, Run& run, const Prepared& i) {
  const uint8_t *a = data(m, run, i.a), *b = data(m, run, i.b);
  return elementwise(m, run, i, [&](void* out) { i.kernel.binary(a, b, out, run.count(i.r)); });
}

Step division(Machine& m, Run& run, const Prepared& i) {
  const uint8_t* divisors = m.observer ? data(m, run, i.b) : nullptr;
  const RegisterInfo& info = run.info(i.b);
  bool isLanes = info.extent == Extent::Lanes;
  for (size_t k = 0; divisors && k < run.count(i.b); ++k) {
    const uint8_t* divisor = divisors + k * info.elemBytes;
    if (std::any_of(divisor, divisor + info.elemBytes, [](uint8_t byte) { return byte; })) continue;
    if (isLanes && !run.mask.has(uint32_t(k / info.vectorLength))) continue;
    m.observer->dividesByZero(run);
    break;
  }
  return binaryOp(m, run, i);
}

Step mulExtendedOp(Machine& m, Run& run, const Prepared& i) {
  Result low(m, run, i.results[0]), high(m, run, i.results[1]);
  mulExtended(i.elem, i.sub == 1, data(m, run, i.a), data(m, run, i.b), low.data(), high.data(), run.count(i.r));
  low.commit();
  high.commit();
  return Step::Next;
}

Step selectOp(Machine& m, Run& run, const Prepared& i) {
  const uint8_t *condition = data(m, run, i.a), *a = data(m, run, i.b), *b = data(m, run, i.c);
  const RegisterInfo& info = run.info(i.r);
  if (run.info(i.a).extent == Extent::Uniform && !(info.isInline)) {
    Register from = *condition ? i.b : i.c;
    data(m, run, from);
    Buffer* chosen = run.slots[from].buffer;
    ++chosen->references;
    setBuffer(m, run, i.r, chosen);
    return Step::Next;
  }
  Result result(m, run, i.r);
  if (info.vectorLength > 1) {  // one condition for each thread's vector
    size_t bytes = size_t(info.vectorLength) * info.elemBytes, n = run.count(i.r) / info.vectorLength;
    for (size_t k = 0; k < n; ++k) memcpy(result.data() + k * bytes, (condition[k] ? a : b) + k * bytes, bytes);
  } else {
    i.kernel.ternary(condition, a, b, result.data(), run.count(i.r));
  }
  result.commit();
  return Step::Next;
}

Step ternaryOp(Machine& m, Run& run, const Prepared& i) {
  const uint8_t *a = data(m, run, i.a), *b = data(m, run, i.b), *c = data(m, run, i.c);
  return elementwise(m, run, i, [&](void* out) { i.kernel.ternary(a, b, c, out, run.count(i.r)); });
}

Step externOp(Machine& m, Run& run, const Prepared& i) {
  std::array<const void*, 8> operands{};
  for (uint32_t k = 0; k < i.operandCount; ++k) operands[k] = data(m, run, i.operands[k]);
  Result result(m, run, i.r);
  i.kernel.external(operands.data(), result.data(), run.count(i.r));
  result.commit();
  return Step::Next;
}

}  // namespace handlers
}  // namespace tandem::interpreter
