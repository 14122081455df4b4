// Block loads and stores: a block of a strided tensor, with the bounds of each dimension.
#include "interpreter/kernels/narrow.h"
#include "interpreter/vm/charge.h"
#include "interpreter/vm/fail.h"
#include "interpreter/vm/handlers.h"
#include "interpreter/vm/registers.h"
#include <bit>
#include <limits>

namespace tandem::interpreter {
namespace {

// One block access: where it lies in the tensor and which parts are inside.
struct Block {
  uint64_t base = 0;
  size_t rank = 0;
  std::vector<int64_t> shape, strides, offsets, tile;
  int64_t checked = 0;
  unsigned bytes = 0;
};

Block blockOf(Machine& m, Run& run, const Prepared& i, uint32_t firstShape, Register tile, int64_t checked) {
  Block b;
  b.base = rawInteger(m, run, i.a);
  b.rank = size_t(i.as<imm::BlockLoad>().rank);
  b.checked = checked;
  b.bytes = run.info(tile).elemBytes;
  for (size_t d = 0; d < b.rank; ++d) {
    b.shape.push_back(integer(m, run, i.operands[firstShape + d]));
    b.strides.push_back(integer(m, run, i.operands[firstShape + b.rank + d]));
    b.offsets.push_back(integer(m, run, i.operands[firstShape + 2 * b.rank + d]));
  }
  b.tile = *run.info(tile).shape;
  while (b.tile.size() < b.rank) b.tile.insert(b.tile.begin(), 1);  // a descriptor's leading dimensions of one
  return b;
}

// The first dimension whose part outside the tensor nobody asked to check, or -1.
int uncheckedOverrun(const Block& b) {
  for (size_t d = 0; d < b.rank; ++d)
    if (!(b.checked >> d & 1) && (b.offsets[d] < 0 || b.offsets[d] + b.tile[d] > b.shape[d])) return int(d);
  return -1;
}

Step overrun(Machine& m, Run& run, const Prepared& i, const Block& b, int d) {
  size_t n = size_t(d);
  return fail(m, run, i, ReportKind::OutOfBounds,
              "block covers [" + std::to_string(b.offsets[n]) + ".." + std::to_string(b.offsets[n] + b.tile[n]) +
                  ") of dimension " + std::to_string(d) + ", which has size " + std::to_string(b.shape[n]) +
                  "; the dimension is not in `boundary_check`");
}

// Calls body(tile position, address, length) for each row's inside part; rows whose elements are not adjacent come one
// by one.
template <class Body>
bool eachRow(const Block& b, Body body) {
  size_t last = b.rank - 1;
  int64_t width = b.tile[last], rows = 1;
  for (size_t d = 0; d < last; ++d) rows *= b.tile[d];
  int64_t from = std::max<int64_t>(0, -b.offsets[last]), to = std::min(width, b.shape[last] - b.offsets[last]);
  std::vector<int64_t> index(b.rank, 0);
  for (int64_t row = 0; row < rows; ++row) {
    int64_t rest = row, at = 0;
    bool inside = from < to;
    for (size_t d = last; d-- > 0;) {
      int64_t position = b.offsets[d] + rest % b.tile[d];
      rest /= b.tile[d];
      inside = inside && position >= 0 && position < b.shape[d];
      at += position * b.strides[d];
    }
    if (!inside) continue;
    uint64_t address = b.base + uint64_t(at + (b.offsets[last] + from) * b.strides[last]) * b.bytes;
    if (b.strides[last] == 1 || to - from == 1) {
      if (!body(row * width + from, address, to - from)) return false;
      continue;
    }
    for (int64_t k = from; k < to; ++k)
      if (!body(row * width + k, address + uint64_t((k - from) * b.strides[last]) * b.bytes, 1)) return false;
  }
  return true;
}

void fillPadding(uint8_t* out, size_t n, Elem elem, bool nan) {
  uint64_t bits = !nan                ? 0
                  : elem == Elem::F64 ? std::bit_cast<uint64_t>(std::numeric_limits<double>::quiet_NaN())
                  : elem == Elem::F32 ? std::bit_cast<uint32_t>(std::numeric_limits<float>::quiet_NaN())
                                      : forNarrow(elem, [](auto format) { return decltype(format)::nan; });
  splat(&bits, out, n, byteSize(elem));
}

}  // namespace

namespace handlers {

Step blockLoad(Machine& m, Run& run, const Prepared& i) {
  Block b = blockOf(m, run, i, 1, i.r, i.as<imm::BlockLoad>().checked);
  if (int d = uncheckedOverrun(b); d >= 0) return overrun(m, run, i, b, d);
  Accessor who(m, run, i);
  Result result(m, run, i.r);
  uint8_t* out = result.data();
  if (b.checked) fillPadding(out, run.count(i.r), run.info(i.r).elem, i.as<imm::BlockLoad>().padding == 1);
  uint64_t touched = b.base;  // the tensor may lie on several ranks
  bool ok = eachRow(b, [&](int64_t position, uint64_t address, int64_t length) {
    touched = address;
    return readMemory(who, address, out + uint64_t(position) * b.bytes, uint64_t(length) * b.bytes, b.bytes);
  });
  if (!ok) return Step::Failed;
  chargeAccess(m, run, i.location, registerBytes(run, i.r), m.arena.rankOf(touched), SpanKind::Get, "block load");
  result.commit();
  return Step::Next;
}

Step blockStore(Machine& m, Run& run, const Prepared& i) {
  Block b = blockOf(m, run, i, 2, i.b, i.as<imm::BlockStore>().checked);
  if (int d = uncheckedOverrun(b); d >= 0) return overrun(m, run, i, b, d);
  Accessor who(m, run, i);
  const uint8_t* value = data(m, run, i.b);
  int64_t rmw = i.as<imm::BlockStore>().rmw;
  who.synchronises = rmw >= 0;
  uint64_t touched = b.base;
  bool ok = eachRow(b, [&](int64_t position, uint64_t address, int64_t length) {
    touched = address;
    const uint8_t* from = value + uint64_t(position) * b.bytes;
    if (rmw < 0) return writeMemory(who, address, from, uint64_t(length) * b.bytes, b.bytes);
    uint64_t old;
    for (int64_t k = 0; k < length; ++k)
      if (!updateMemory(who, RmwOp(rmw), run.info(i.b).elem, address + uint64_t(k) * b.bytes,
                        from + uint64_t(k) * b.bytes, &old))
        return false;
    return true;
  });
  if (!ok) return Step::Failed;
  chargeAccess(m, run, i.location, registerBytes(run, i.b), m.arena.rankOf(touched), SpanKind::Put, "block store");
  return Step::Next;
}

}  // namespace handlers
}  // namespace tandem::interpreter
