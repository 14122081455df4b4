// Per-thread vectors: consecutive elements for each thread. A tile's elements dealt to the threads, and collected.
#include "interpreter/vm/handlers.h"
#include "interpreter/vm/registers.h"

namespace tandem::interpreter::handlers {

Step vectorOp(Machine& m, Run& run, const Prepared& i) {
  Result result(m, run, i.r);
  size_t bytes = run.info(i.r).elemBytes, length = run.info(i.r).vectorLength;
  size_t n = run.count(i.r) / length;
  for (size_t e = 0; e < i.operandCount; ++e) {
    const uint8_t* from = data(m, run, i.operands[e]);
    bool lanes = isLanes(run, i.operands[e]);
    for (size_t k = 0; k < n; ++k)
      memcpy(result.data() + (k * length + e) * bytes, from + (lanes ? k * bytes : 0), bytes);
  }
  result.commit();
  return Step::Next;
}

Step vectorExtract(Machine& m, Run& run, const Prepared& i) {
  const uint8_t* from = data(m, run, i.a);
  size_t bytes = run.info(i.r).elemBytes, length = run.info(i.a).vectorLength,
         index = size_t(i.as<imm::VectorExtract>().index);
  Result result(m, run, i.r);
  size_t n = run.count(i.r);
  bool lanes = isLanes(run, i.a);
  for (size_t k = 0; k < n; ++k)
    memcpy(result.data() + k * bytes, from + ((lanes ? k * length : 0) + index) * bytes, bytes);
  result.commit();
  return Step::Next;
}

Step vectorBitcast(Machine& m, Run& run, const Prepared& i) {
  const uint8_t* from = data(m, run, i.a);
  Result result(m, run, i.r);
  memcpy(result.data(), from, std::min(registerBytes(run, i.r), registerBytes(run, i.a)));
  result.commit();
  return Step::Next;
}

Step deal(Machine& m, Run& run, const Prepared& i) {
  const uint8_t* from = data(m, run, i.a);
  size_t bytes = run.info(i.r).elemBytes, elements = run.count(i.a), n = run.count(i.r);
  Result result(m, run, i.r);
  for (size_t k = 0; k < n; ++k) memcpy(result.data() + k * bytes, from + k % elements * bytes, bytes);
  result.commit();
  return Step::Next;
}

Step collect(Machine& m, Run& run, const Prepared& i) {
  const uint8_t* from = data(m, run, i.a);
  Result result(m, run, i.r);
  memcpy(result.data(), from, registerBytes(run, i.r));
  result.commit();
  return Step::Next;
}

}  // namespace tandem::interpreter::handlers
