// Ops that make or rearrange tiles.
#include "interpreter/vm/fail.h"
#include "interpreter/vm/handlers.h"
#include "interpreter/vm/registers.h"

namespace tandem::interpreter {
namespace {

const std::vector<int64_t>& shapeOf(const Run& run, Register r) {
  static const std::vector<int64_t> scalar;
  return run.info(r).shape ? *run.info(r).shape : scalar;
}

}  // namespace

namespace handlers {

Step programId(Machine& m, Run& run, const Prepared& i) {
  setInteger(m, run, i.r, run.id[size_t(i.as<imm::ProgramId>().axis)]);
  return Step::Next;
}

Step numPrograms(Machine& m, Run& run, const Prepared& i) {
  setInteger(m, run, i.r, run.grids[size_t(i.as<imm::NumPrograms>().axis)]);
  return Step::Next;
}

Step makeRangeOp(Machine& m, Run& run, const Prepared& i) {
  Result result(m, run, i.r);
  makeRange(int32_t(i.as<imm::MakeRange>().start), reinterpret_cast<int32_t*>(result.data()), run.count(i.r));
  result.commit();
  return Step::Next;
}

Step reshapeOp(Machine& m, Run& run, const Prepared& i) {
  if (run.info(i.a).isInline == run.info(i.r).isInline) return copy(m, run, i);
  const uint8_t* from = data(m, run, i.a);  // a Uniform to or from a tile of one element
  Result result(m, run, i.r);
  memcpy(result.data(), from, run.info(i.r).elemBytes);
  result.commit();
  return Step::Next;
}

Step broadcastOp(Machine& m, Run& run, const Prepared& i) {
  const uint8_t* from = data(m, run, i.a);
  Result result(m, run, i.r);
  interpreter::broadcast(from, shapeOf(run, i.a), result.data(), shapeOf(run, i.r), run.info(i.r).elemBytes);
  result.commit();
  return Step::Next;
}

Step permuteOp(Machine& m, Run& run, const Prepared& i) {
  const uint8_t* from = data(m, run, i.a);
  Result result(m, run, i.r);
  interpreter::permute(from, shapeOf(run, i.a), std::span(i.immediates, i.immediateCount), result.data(),
                       run.info(i.r).elemBytes);
  result.commit();
  return Step::Next;
}

Step joinOp(Machine& m, Run& run, const Prepared& i) {
  const uint8_t *a = data(m, run, i.a), *b = data(m, run, i.b);
  Result result(m, run, i.r);
  interpreter::join(a, b, result.data(), run.count(i.a), run.info(i.r).elemBytes);
  result.commit();
  return Step::Next;
}

Step splitOp(Machine& m, Run& run, const Prepared& i) {
  const uint8_t* from = data(m, run, i.a);
  Result first(m, run, i.results[0]), second(m, run, i.results[1]);
  interpreter::split(from, first.data(), second.data(), run.count(i.r), run.info(i.r).elemBytes);
  first.commit();
  second.commit();
  return Step::Next;
}

Step catOp(Machine& m, Run& run, const Prepared& i) {
  const uint8_t *a = data(m, run, i.a), *b = data(m, run, i.b);
  Result result(m, run, i.r);
  interpreter::cat(a, run.count(i.a), b, run.count(i.b), result.data(), run.info(i.r).elemBytes);
  result.commit();
  return Step::Next;
}

Step gatherOp(Machine& m, Run& run, const Prepared& i) {
  const uint8_t *source = data(m, run, i.a), *indices = data(m, run, i.b);
  Result result(m, run, i.r);
  int64_t bad = interpreter::gather(source, shapeOf(run, i.a), indices, run.info(i.b).elem, shapeOf(run, i.b),
                                    i.as<imm::Gather>().axis, result.data(), run.info(i.r).elemBytes);
  if (bad >= 0)
    return fail(m, run, i, ReportKind::IndexOutOfRange,
                "`gather` index " + std::to_string(signedAt(indices, size_t(bad), run.info(i.b).elem)) +
                    " is outside 0.." + std::to_string(shapeOf(run, i.a)[size_t(i.as<imm::Gather>().axis)] - 1) +
                    " of axis " + std::to_string(i.as<imm::Gather>().axis));
  result.commit();
  return Step::Next;
}

Step histogramOp(Machine& m, Run& run, const Prepared& i) {
  const uint8_t* values = data(m, run, i.a);
  const uint8_t* mask = i.b == kNone ? nullptr : data(m, run, i.b);
  Result result(m, run, i.r);
  interpreter::histogram(values, run.info(i.a).elem, mask, run.count(i.a), reinterpret_cast<int32_t*>(result.data()),
                         run.count(i.r));
  result.commit();
  return Step::Next;
}

Step addPtr(Machine& m, Run& run, const Prepared& i) {
  const auto* pointers = reinterpret_cast<const int64_t*>(data(m, run, i.a));
  const uint8_t* offsets = data(m, run, i.b);
  size_t n = run.count(i.r);
  size_t pointerStep = run.count(i.a) == n ? 1 : 0, offsetStep = run.count(i.b) == n ? 1 : 0;
  int64_t bytes = i.as<imm::AddPtr>().bytes;
  Result result(m, run, i.r);
  auto* out = reinterpret_cast<uint64_t*>(result.data());
  auto addAll = [&]<class T>(const T* offset) {
    for (size_t k = 0; k < n; ++k)
      out[k] = uint64_t(pointers[k * pointerStep]) + uint64_t(int64_t(offset[k * offsetStep])) * uint64_t(bytes);
  };
  switch (run.info(i.b).elemBytes) {
    case 8: addAll(reinterpret_cast<const int64_t*>(offsets)); break;
    case 4: addAll(reinterpret_cast<const int32_t*>(offsets)); break;
    case 2: addAll(reinterpret_cast<const int16_t*>(offsets)); break;
    default: addAll(reinterpret_cast<const int8_t*>(offsets)); break;
  }
  result.commit();
  return Step::Next;
}

}  // namespace handlers
}  // namespace tandem::interpreter
