// Dot and DotScaled: the sizes from the registers, the arithmetic from the kernels.
#include "interpreter/vm/charge.h"
#include "interpreter/vm/fail.h"
#include "interpreter/vm/handlers.h"
#include "interpreter/vm/registers.h"

namespace tandem::interpreter {
namespace {

// m, n and the batch from the result; k from the left operand.
DotDims dimsOf(const Run& run, Register lhs, Register result) {
  const std::vector<int64_t>&a = *run.info(lhs).shape, &r = *run.info(result).shape;
  DotDims d;
  d.m = r[r.size() - 2];
  d.n = r[r.size() - 1];
  d.k = a[a.size() - 1];
  for (size_t k = 0; k + 2 < r.size(); ++k) d.batch *= r[k];
  return d;
}

double flops(const DotDims& d) { return 2.0 * double(d.batch) * double(d.m) * double(d.n) * double(d.k); }

}  // namespace

namespace handlers {

Step dotOp(Machine& m, Run& run, const Prepared& i) {
  DotDims d = dimsOf(run, i.a, i.r);
  const uint8_t *a = data(m, run, i.a), *b = data(m, run, i.b), *acc = data(m, run, i.c);
  int64_t began = run.clockNs;
  run.clockNs += m.clock.multiplies(flops(d), run.info(i.a).elemBytes);
  span(m, run, SpanKind::Compute, began, run.clockNs, "dot", i.location);
  Elem accElem = run.info(i.c).elem;
  Buffer* own = i.inPlace && run.parked.empty() ? run.slots[i.c].buffer : nullptr;
  if (own && own->references == 1) {  // accumulate where the accumulator lies
    if (!interpreter::dot(d, run.info(i.a).elem, a, run.info(i.b).elem, b, accElem, acc, own->data(),
                          int(i.as<imm::Dot>().precision)))
      return fail(m, run, i, ReportKind::Unsupported, "`dot` of these element types is not defined");
    if (i.r != i.c) {
      run.slots[i.c].buffer = nullptr;
      setBuffer(m, run, i.r, own);
    }
    return Step::Next;
  }
  Result result(m, run, i.r);
  if (!interpreter::dot(d, run.info(i.a).elem, a, run.info(i.b).elem, b, accElem, acc, result.data(),
                        int(i.as<imm::Dot>().precision)))
    return fail(m, run, i, ReportKind::Unsupported, "`dot` of these element types is not defined");
  result.commit();
  return Step::Next;
}

Step dotScaledOp(Machine& m, Run& run, const Prepared& i) {
  Register aScale = i.operands[1], b = i.operands[2], bScale = i.operands[3], acc = i.operands[4];
  ScaledOperand lhs, rhs;
  lhs.format = MicroScale(i.as<imm::DotScaled>().lhsFormat);
  lhs.data = data(m, run, i.a);
  lhs.scales = aScale == kNone ? nullptr : data(m, run, aScale);
  if (lhs.scales) lhs.scaleElem = run.info(aScale).elem;
  lhs.packedAlongK = i.as<imm::DotScaled>().lhsPackedAlongK != 0;
  rhs.format = MicroScale(i.as<imm::DotScaled>().rhsFormat);
  rhs.data = data(m, run, b);
  rhs.scales = bScale == kNone ? nullptr : data(m, run, bScale);
  if (rhs.scales) rhs.scaleElem = run.info(bScale).elem;
  rhs.packedAlongK = i.as<imm::DotScaled>().rhsPackedAlongK != 0;
  DotDims d = dimsOf(run, i.a, i.r);
  if (lhs.format == MicroScale::E2M1 && lhs.packedAlongK) d.k *= 2;
  run.clockNs += m.clock.multiplies(flops(d), 1);
  Result result(m, run, i.r);
  // A scale tile of the right operand lies as [n, k / 32 or 16], as in Triton.
  dotScaled(d, lhs, rhs, acc == kNone ? nullptr : reinterpret_cast<const float*>(data(m, run, acc)),
            reinterpret_cast<float*>(result.data()));
  result.commit();
  return Step::Next;
}

}  // namespace handlers
}  // namespace tandem::interpreter
