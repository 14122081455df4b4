// stmatrix and ldmatrix: 8x8 matrices of 16-bit words between registers and shared memory.
#include "compiler/lower/nvidia/matrix.h"
#include "compiler/lower/gpu/convert.h"

namespace tandem::lower::nvidia {
using namespace mlir;
using layout::Dim;
namespace {

// Words moved by one instruction: four where their offsets are linear in their number, else fewer.
size_t wordsAtOnce(const LinearLayout& layout, llvm::ArrayRef<llvm::SmallVector<unsigned, 8>> words, size_t first) {
  auto at = [&](size_t i) { return layout.apply(Dim::Register, words[first + i][0]); };
  if (first + 4 <= words.size() && (at(0) ^ at(1) ^ at(2)) == at(3)) return 4;
  return first + 2 <= words.size() ? 2 : 1;
}

}  // namespace

// The address this lane gives: of row (lane & 7) of matrix (lane >> 3).
static llvm::Value* matrixAddress(KernelContext& cx, llvm::Value* base, const LinearLayout& layout,
                                  llvm::ArrayRef<uint64_t> offsets, unsigned bits, bool transposed) {
  llvm::SmallVector<uint64_t> masks;
  for (uint64_t row : layout::matrixRows(layout, transposed)) masks.push_back(row);
  if (offsets.size() > 1) masks.push_back(offsets[0] ^ offsets[1]);
  if (offsets.size() > 2) masks.push_back(offsets[0] ^ offsets[2]);
  uint64_t threads = 0, own = offsets[0];
  for (llvm::ArrayRef<uint64_t> part : {llvm::ArrayRef<uint64_t>(masks), layout.bases(Dim::Warp)})
    for (uint64_t mask : part) threads |= mask;
  llvm::Value* offset = xorOfMasks(cx, cx.laneId(), masks);
  offset = cx.b.CreateXor(offset, xorOfMasks(cx, cx.ownWarp(), layout.bases(Dim::Warp)));
  return cx.sharedElement(base, offset, own, threads, bits);
}

void storeMatrices(KernelContext& cx, llvm::Value* base, const LinearLayout& layout, Scalars source, unsigned bits,
                   bool transposed) {
  auto words = layout::matrixWords(layout, bits, transposed);
  for (size_t first = 0; first < words.size();) {
    size_t count = wordsAtOnce(layout, words, first);
    Regs values;
    llvm::SmallVector<uint64_t> offsets;
    for (size_t i = first; i < first + count; ++i) {
      Regs parts;
      for (unsigned r : words[i]) parts.push_back(source[r]);
      values.push_back(cx.pack(parts, 32)[0]);
      offsets.push_back(layout.apply(Dim::Register, words[i][0]));
    }
    ptx::storeMatrix(cx.b, matrixAddress(cx, base, layout, offsets, bits, transposed), values, transposed);
    first += count;
  }
}

void storePlaced(KernelContext& cx, llvm::Value* base, const LinearLayout& placed, const Regs& regs, unsigned bits) {
  Regs parts;
  for (llvm::Value* v : regs) parts.push_back(cx.toBits(v));
  if (cx.target.hasStmatrix() && layout::fitsMatrix(placed, bits, false))
    return storeMatrices(cx, base, placed, parts, bits, false);
  int64_t vector = 16 * 8 / bits;
  auto whole = [&](int64_t v) {
    return llvm::all_of(layout::vectorGroups(placed, v), [&](const auto& g) { return int64_t(g.size()) == v; });
  };
  while (vector > 1 && !whole(vector)) vector /= 2;
  for (const auto& group : layout::vectorGroups(placed, vector)) {
    Regs values;
    for (unsigned r : group) values.push_back(parts[r]);
    cx.storeShared(
        cx.b.CreateGEP(cx.b.getInt8Ty(), base, cx.b.CreateMul(cx.position(placed, group[0]), cx.b.getInt32(bits / 8))),
        values);
  }
}

void loadMatrices(KernelContext& cx, llvm::Value* base, const LinearLayout& layout,
                  llvm::MutableArrayRef<llvm::Value*> result, unsigned bits, bool transposed) {
  auto words = layout::matrixWords(layout, bits, transposed);
  for (size_t first = 0; first < words.size();) {
    size_t count = wordsAtOnce(layout, words, first);
    llvm::SmallVector<uint64_t> offsets;
    for (size_t i = first; i < first + count; ++i) offsets.push_back(layout.apply(Dim::Register, words[i][0]));
    Regs values = ptx::loadMatrix(cx.b, matrixAddress(cx, base, layout, offsets, bits, transposed), count, transposed);
    for (size_t i = 0; i < count; ++i) {
      Regs parts = cx.unpack({values[i]}, bits, words[first + i].size());
      for (auto [r, v] : llvm::zip(words[first + i], parts)) result[r] = v;
    }
    first += count;
  }
}

}  // namespace tandem::lower::nvidia
