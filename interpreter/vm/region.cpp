// Reduce, Scan and MapElementwise: their region runs over many lanes at once, one lane a combination.
#include "interpreter/vm/charge.h"
#include "interpreter/vm/fail.h"
#include "interpreter/vm/handlers.h"
#include "interpreter/vm/registers.h"

namespace tandem::interpreter {
namespace {

// A tile as [outer][axis][inner].
struct AxisView {
  size_t outer = 1, length = 1, inner = 1;
};
AxisView viewOf(const Run& run, Register r, int64_t axis) {
  AxisView v;
  const std::vector<int64_t>& shape = *run.info(r).shape;
  for (size_t d = 0; d < shape.size(); ++d)
    (int64_t(d) < axis ? v.outer : int64_t(d) == axis ? v.length : v.inner) *= size_t(shape[d]);
  return v;
}

// The run as its region sees it: `lanes` lanes, all active.
class RegionScope {
 public:
  RegionScope(Run& run) : run_(run), lanes_(run.lanes), mask_(std::move(run.mask)), stack_(std::move(run.maskStack)) {
    run.mask = LaneMask{};
    run.maskStack.clear();
  }
  ~RegionScope() {
    run_.lanes = lanes_;
    run_.mask = std::move(mask_);
    run_.maskStack = std::move(stack_);
  }

 private:
  Run& run_;
  uint32_t lanes_;
  LaneMask mask_;
  std::vector<MaskEntry> stack_;
};

using Buffers = std::vector<std::vector<uint8_t>>;

// Combines a[k] with b[k] for all sources over n lanes, into a.
class Combiner {
 public:
  Combiner(Machine& m, Run& run, const Prepared& i, const Region& region) : m_(m), run_(run), region_(region) {
    if (region.binary != kNoBinary && i.operandCount == 1)
      fast_ = binaryKernel(BinaryOp(region.binary), run.info(i.a).elem);
  }
  bool operator()(Buffers& a, const Buffers& b, size_t n) {
    if (fast_) {
      fast_(a[0].data(), b[0].data(), a[0].data(), n);
      return true;
    }
    run_.lanes = uint32_t(n);
    size_t count = a.size();
    for (size_t k = 0; k < count; ++k) {
      set(region_.arguments[k], a[k], n);
      set(region_.arguments[count + k], b[k], n);
    }
    if (!runCode(m_, run_, region_.begin, region_.end)) return false;
    for (size_t k = 0; k < count; ++k) {
      Register r = region_.results[k];
      size_t bytes = run_.info(r).elemBytes;
      const uint8_t* from = data(m_, run_, r);
      if (isLanes(run_, r))
        memcpy(a[k].data(), from, n * bytes);
      else
        splat(from, a[k].data(), n, unsigned(bytes));
    }
    return true;
  }

 private:
  void set(Register r, const std::vector<uint8_t>& from, size_t n) {
    Buffer* b = m_.pool.take(n * run_.info(r).elemBytes);
    memcpy(b->data(), from.data(), n * run_.info(r).elemBytes);
    setBuffer(m_, run_, r, b);
  }
  Machine& m_;
  Run& run_;
  const Region& region_;
  BinaryKernel fast_ = nullptr;
};

// Copies positions [first, first + count) of the axis into a buffer [outer][count][inner].
void slice(const uint8_t* from, const AxisView& v, size_t first, size_t count, size_t bytes, std::vector<uint8_t>& to) {
  to.resize(v.outer * count * v.inner * bytes);
  size_t block = count * v.inner * bytes;
  for (size_t o = 0; o < v.outer; ++o)
    memcpy(to.data() + o * block, from + (o * v.length + first) * v.inner * bytes, block);
}

void unslice(const std::vector<uint8_t>& from, const AxisView& v, size_t first, size_t count, size_t bytes,
             uint8_t* to) {
  size_t block = count * v.inner * bytes;
  for (size_t o = 0; o < v.outer; ++o)
    memcpy(to + (o * v.length + first) * v.inner * bytes, from.data() + o * block, block);
}

}  // namespace

bool runCode(Machine& m, Run& run, uint32_t begin, uint32_t end) {
  uint32_t saved = run.pc;
  run.pc = begin;
  while (run.pc < end) {
    const Prepared& i = run.prepared->code[run.pc];
    Step step = i.handler(m, run, i);
    for (uint32_t k = 0; k < i.releaseCount; ++k) setBuffer(m, run, i.releases[k], nullptr);
    if (step == Step::Failed) return false;
    if (step == Step::Blocked || step == Step::Yield || step == Step::Finished) {
      fail(m, run, i, ReportKind::Unsupported, "a region of a reduction cannot wait");
      return false;
    }
    ++run.instructions;
    if (step == Step::Next) ++run.pc;
  }
  run.pc = saved;
  return true;
}

namespace handlers {

Step reduceOp(Machine& m, Run& run, const Prepared& i) {
  const Region& region = run.prepared->program->regions[size_t(i.as<imm::Reduce>().region)];
  AxisView v = viewOf(run, i.a, i.as<imm::Reduce>().axis);
  size_t count = i.operandCount;
  Buffers current(count), low(count), high(count);
  for (size_t k = 0; k < count; ++k) {
    const uint8_t* from = data(m, run, i.operands[k]);
    current[k].assign(from, from + registerBytes(run, i.operands[k]));
  }
  run.clockNs += m.clock.adds(double(v.outer * v.length * v.inner));
  {
    RegionScope scope(run);
    Combiner combine(m, run, i, region);
    while (v.length > 1) {
      size_t half = v.length / 2, rest = v.length - 2 * half;
      Buffers tail(count);
      for (size_t k = 0; k < count; ++k) {
        size_t bytes = run.info(i.operands[k]).elemBytes;
        slice(current[k].data(), v, 0, half, bytes, low[k]);
        slice(current[k].data(), v, half, half, bytes, high[k]);
        if (rest) slice(current[k].data(), v, 2 * half, 1, bytes, tail[k]);
      }
      if (!combine(low, high, v.outer * half * v.inner)) return Step::Failed;
      AxisView next{v.outer, half + rest, v.inner};
      for (size_t k = 0; k < count; ++k) {
        size_t bytes = run.info(i.operands[k]).elemBytes;
        if (!rest) {
          std::swap(current[k], low[k]);
          continue;
        }
        current[k].resize(next.outer * next.length * next.inner * bytes);
        unslice(low[k], next, 0, half, bytes, current[k].data());
        unslice(tail[k], next, half, 1, bytes, current[k].data());
      }
      v = next;
    }
  }
  for (size_t k = 0; k < count; ++k) {
    Result result(m, run, i.results[k]);
    memcpy(result.data(), current[k].data(), registerBytes(run, i.results[k]));
    result.commit();
  }
  return Step::Next;
}

Step scanOp(Machine& m, Run& run, const Prepared& i) {
  const Region& region = run.prepared->program->regions[size_t(i.as<imm::Scan>().region)];
  bool reverse = i.as<imm::Scan>().reverse != 0;
  AxisView v = viewOf(run, i.a, i.as<imm::Scan>().axis);
  size_t count = i.operandCount;
  std::vector<std::vector<uint8_t>> out(count);
  std::vector<const uint8_t*> from(count);
  Buffers running(count), next(count);
  for (size_t k = 0; k < count; ++k) {
    from[k] = data(m, run, i.operands[k]);
    out[k].resize(registerBytes(run, i.operands[k]));
  }
  run.clockNs += m.clock.adds(double(v.outer * v.length * v.inner));
  {
    RegionScope scope(run);
    Combiner combine(m, run, i, region);
    for (size_t step = 0; step < v.length; ++step) {
      size_t at = reverse ? v.length - 1 - step : step;
      for (size_t k = 0; k < count; ++k)
        slice(from[k], v, at, 1, run.info(i.operands[k]).elemBytes, step ? next[k] : running[k]);
      if (step && !combine(running, next, v.outer * v.inner)) return Step::Failed;
      for (size_t k = 0; k < count; ++k)
        unslice(running[k], v, at, 1, run.info(i.operands[k]).elemBytes, out[k].data());
    }
  }
  for (size_t k = 0; k < count; ++k) {
    Result result(m, run, i.results[k]);
    memcpy(result.data(), out[k].data(), registerBytes(run, i.results[k]));
    result.commit();
  }
  return Step::Next;
}

// With `pack` p each run of the region takes p consecutive elements of each source, in p arguments a source.
Step mapElementwise(Machine& m, Run& run, const Prepared& i) {
  const Region& region = run.prepared->program->regions[size_t(i.as<imm::MapElementwise>().region)];
  size_t pack = size_t(std::max<int64_t>(1, i.as<imm::MapElementwise>().pack)), groups = run.count(i.a) / pack;
  auto spread = [&](Register argument, const uint8_t* from, size_t offset) {
    size_t bytes = run.info(argument).elemBytes;
    Buffer* b = m.pool.take(groups * bytes);
    for (size_t g = 0; g < groups; ++g) memcpy(b->data() + g * bytes, from + (g * pack + offset) * bytes, bytes);
    setBuffer(m, run, argument, b);
  };
  for (size_t k = 0; k < i.operandCount; ++k)
    for (size_t p = 0; p < pack; ++p) spread(region.arguments[k * pack + p], data(m, run, i.operands[k]), p);
  RegionScope scope(run);
  run.lanes = uint32_t(groups);
  if (!runCode(m, run, region.begin, region.end)) return Step::Failed;
  for (size_t k = 0; k < i.resultCount; ++k) {
    Result result(m, run, i.results[k]);
    size_t bytes = run.info(i.results[k]).elemBytes;
    for (size_t p = 0; p < pack; ++p) {
      Register r = region.results[k * pack + p];
      const uint8_t* value = data(m, run, r);
      for (size_t g = 0; g < groups; ++g)
        memcpy(result.data() + (g * pack + p) * bytes, value + (isLanes(run, r) ? g : 0) * bytes, bytes);
    }
    result.commit();
  }
  return Step::Next;
}

}  // namespace handlers
}  // namespace tandem::interpreter
