// tile.map_elementwise: the scalar region on each register, or on packs of neighbouring positions that one thread
// holds.
#include "compiler/lower/gpu/convert.h"
#include "compiler/lower/gpu/region.h"

namespace tandem::lower::gpu {
using namespace mlir;
using layout::Dim;
namespace {

// Positions in order: packs to registers, then lanes, then warps, the rest to registers.
LinearLayout packedLayout(ArrayRef<int64_t> shape, int64_t pack, int warpSize, int numWarps) {
  LinearLayout layout(shape);
  uint64_t next = 1, end = layout.numElements();
  auto take = [&](Dim dim, unsigned bits) {
    for (; bits; --bits, next *= 2) layout.mutableBases(dim).push_back(next < end ? next : 0);
  };
  take(Dim::Register, llvm::Log2_64(pack));
  take(Dim::Lane, llvm::Log2_64(warpSize));
  take(Dim::Warp, llvm::Log2_64(numWarps));
  while (next < end) take(Dim::Register, 1);
  return layout;
}

bool startsWithPack(const LinearLayout& layout, int64_t pack) {
  ArrayRef<uint64_t> registers = layout.bases(Dim::Register);
  for (unsigned bit = 0; bit < llvm::Log2_64(pack); ++bit)
    if (bit >= registers.size() || registers[bit] != uint64_t(1) << bit) return false;
  return true;
}

}  // namespace

static void lowerMapElementwise(KernelContext& cx, tile::MapElementwiseOp op) {
  int64_t pack = op.getPack();
  LinearLayout layout = cx.layoutOf(op.getSources()[0]);
  if (!startsWithPack(layout, pack)) layout = packedLayout(layout.shape(), pack, cx.warpSize(), cx.numWarps);
  SmallVector<Regs> sources;
  for (mlir::Value source : op.getSources())
    sources.push_back(
        convertLayout(cx, cx.use(source), cx.layoutOf(source), layout, cx.typeOf(source.getType()), op.getLoc()));
  Rows rows(layout.numRegisters());
  for (size_t first = 0; first < rows.size(); first += pack) {
    Regs arguments;
    for (const Regs& source : sources) arguments.append(source.begin() + first, source.begin() + first + pack);
    Regs yielded = callRegion(cx, op.getBody(), arguments);
    for (size_t k = 0; k < op.getNumResults(); ++k)
      for (int64_t i = 0; i < pack; ++i) rows[first + i].push_back(yielded[k * pack + i]);
  }
  defineRows(cx, op, rows, layout);
}

void registerMapElementwise(Lowerings& table) {
  table.on<tile::MapElementwiseOp>([](KernelContext& cx, auto o) { lowerMapElementwise(cx, o); });
}

}  // namespace tandem::lower::gpu
