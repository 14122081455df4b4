// This file counts, lane by lane, the accesses that one instruction of a warp makes to each bank, and finds the
// registers that it carries.
#include "compiler/layout/gf2.h"
#include "compiler/layout/shared.h"
#include <llvm/ADT/DenseSet.h>
#include <llvm/ADT/STLExtras.h>
#include <llvm/Support/MathExtras.h>
#include <map>

namespace tandem::layout {
namespace {

constexpr unsigned kBanks = 32, kWordBits = 32, kRowBits = 128;

// Passes for accesses made together, each `bits` wide from an offset: the most distinct words any bank is asked for.
int64_t passes(llvm::ArrayRef<uint64_t> offsets, unsigned elemBits, int64_t vector) {
  std::array<llvm::SmallDenseSet<uint64_t, 8>, kBanks> words;
  for (uint64_t offset : offsets) {
    uint64_t first = offset * elemBits / kWordBits, last = ((offset + vector) * elemBits - 1) / kWordBits;
    for (uint64_t word = first; word <= last; ++word) words[word % kBanks].insert(word);
  }
  int64_t most = 0;
  for (const auto& bank : words) most = std::max<int64_t>(most, bank.size());
  return most;
}

// Lane bits of the two halves of a matrix: those inside a row and those that count rows.
llvm::ArrayRef<uint64_t> lanesInRow(const LinearLayout& layout, bool transposed) {
  return transposed ? layout.bases(Dim::Lane).drop_front(2) : layout.bases(Dim::Lane).take_front(2);
}

}  // namespace

int64_t bankConflicts(const LinearLayout& layout, unsigned elemBits, int64_t vector) {
  int64_t lanes = layout.numLanes(), bits = vector * elemBits;
  int64_t together = bits <= kWordBits ? lanes : std::max<int64_t>(1, kBanks * kWordBits / bits);
  int64_t extra = 0;
  for (int64_t first = 0; first < lanes; first += together) {
    llvm::SmallVector<uint64_t, 32> offsets;
    for (int64_t lane = first; lane < std::min(lanes, first + together); ++lane)
      offsets.push_back(layout.apply(Dim::Lane, lane) & ~uint64_t(vector - 1));
    extra += passes(offsets, elemBits, vector) - 1;
  }
  return extra;
}

int64_t matrixBankConflicts(const LinearLayout& layout, unsigned elemBits, bool transposed) {
  std::array<uint64_t, 3> rows = matrixRows(layout, transposed);
  llvm::SmallVector<uint64_t, 8> offsets;
  for (uint64_t row = 0; row < 8; ++row) offsets.push_back(combine(rows, row));
  return passes(offsets, elemBits, kRowBits / elemBits) - 1;
}

int64_t accessCost(const LinearLayout& layout, Access access, int64_t vector, unsigned elemBits) {
  constexpr int64_t passCost = 2, instructionCost = 1, matricesOfInstruction = 4;
  int64_t elements = int64_t(1) << Span(layout.bases(Dim::Register)).dimension();
  if (access == Access::Vector) {
    int64_t least = std::max<int64_t>(1, vector * elemBits / kWordBits);
    return elements / vector * (instructionCost + passCost * (least + bankConflicts(layout, elemBits, vector)));
  }
  int64_t matrices = std::max<int64_t>(1, elements * elemBits / kWordBits);
  int64_t passesOfMatrix = 1 + matrixBankConflicts(layout, elemBits, access == Access::MatrixTransposed);
  return llvm::divideCeil(matrices, matricesOfInstruction) * instructionCost + matrices * passesOfMatrix * passCost;
}

std::array<uint64_t, 3> matrixRows(const LinearLayout& layout, bool transposed) {
  llvm::ArrayRef<uint64_t> lanes = layout.bases(Dim::Lane);
  if (transposed) return {layout.bases(Dim::Register)[0], lanes[0], lanes[1]};
  return {lanes[2], lanes[3], lanes[4]};
}

bool fitsMatrix(const LinearLayout& layout, unsigned elemBits, bool transposed) {
  if (elemBits > kWordBits || (transposed && elemBits != 16)) return false;
  llvm::ArrayRef<uint64_t> registers = layout.bases(Dim::Register), lanes = layout.bases(Dim::Lane);
  if (lanes.size() != 5 || (transposed && registers.empty())) return false;
  uint64_t inRow = kRowBits / elemBits - 1, inWord = kWordBits / elemBits - 1;
  // Lanes of a row hold its words in order (transposed: its elements).
  uint64_t step = transposed ? 1 : inWord + 1;
  for (uint64_t basis : lanesInRow(layout, transposed)) {
    if (basis != step) return false;
    step *= 2;
  }
  auto aligned = [&](uint64_t basis) { return (basis & inRow) == 0; };
  llvm::ArrayRef<uint64_t> rowLanes = transposed ? lanes.take_front(2) : lanes.drop_front(2);
  if (!llvm::all_of(rowLanes, aligned) || !llvm::all_of(layout.bases(Dim::Warp), aligned)) return false;
  if (transposed) return llvm::all_of(registers, aligned) && registers[0] != 0;
  // Registers of one word are in one thread.
  if (!llvm::all_of(registers, [&](uint64_t basis) { return (basis & inRow & ~inWord) == 0; })) return false;
  Span span(registers);
  for (uint64_t bit = 1; bit <= inWord; bit *= 2)
    if (!span.contains(bit)) return false;
  return true;
}

int64_t widestVector(const LinearLayout& layout, unsigned elemBits) {
  Span registers(layout.bases(Dim::Register));
  int64_t vector = 1;
  auto aligned = [&](uint64_t basis) { return (basis & vector) == 0; };
  while (vector * 2 * elemBits <= kRowBits && registers.contains(vector) &&
         llvm::all_of(layout.bases(Dim::Lane), aligned) && llvm::all_of(layout.bases(Dim::Warp), aligned))
    vector *= 2;
  return vector;
}

llvm::SmallVector<llvm::SmallVector<unsigned, 8>> vectorGroups(const LinearLayout& layout, int64_t vector) {
  std::map<uint64_t, std::map<uint64_t, unsigned>> groups;  // aligned offset, place in the vector
  for (int64_t r = 0; r < layout.numRegisters(); ++r) {
    uint64_t offset = layout.apply(Dim::Register, r);
    groups[offset & ~uint64_t(vector - 1)].try_emplace(offset & (vector - 1), r);
  }
  llvm::SmallVector<llvm::SmallVector<unsigned, 8>> result;
  for (const auto& [offset, group] : groups) {
    llvm::SmallVector<unsigned, 8>& registers = result.emplace_back();
    for (const auto& [place, register_] : group) registers.push_back(register_);
  }
  return result;
}

llvm::SmallVector<llvm::SmallVector<unsigned, 8>> matrixWords(const LinearLayout& layout, unsigned elemBits,
                                                              bool transposed) {
  llvm::SmallVector<llvm::SmallVector<unsigned, 8>> result;
  if (!transposed) {
    result = vectorGroups(layout, kWordBits / elemBits);
    llvm::sort(result, [](const auto& a, const auto& b) { return *llvm::min_element(a) < *llvm::min_element(b); });
    return result;
  }
  uint64_t pair = layout.bases(Dim::Register)[0];
  llvm::SmallDenseSet<uint64_t, 32> seen;
  for (unsigned r = 0; r < layout.numRegisters(); r += 2) {
    uint64_t offset = layout.apply(Dim::Register, r);
    if (!seen.insert(offset).second) continue;
    seen.insert(offset ^ pair);
    result.push_back({r, r + 1});
  }
  return result;
}

}  // namespace tandem::layout
