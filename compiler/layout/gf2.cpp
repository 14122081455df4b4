// Gaussian elimination over bits.
#include "compiler/layout/gf2.h"
#include <llvm/ADT/STLExtras.h>
#include <llvm/ADT/bit.h>

namespace tandem::layout {

Span::Row Span::reduce(uint64_t vector) const {
  Row rest{vector, 0};
  for (const Row& row : rows_) {
    if ((rest.vector & llvm::bit_floor(row.vector)) == 0) continue;
    rest.vector ^= row.vector;
    rest.tag ^= row.tag;
  }
  return rest;
}

bool Span::insert(uint64_t vector, uint64_t tag) {
  Row rest = reduce(vector);
  if (rest.vector == 0) return false;
  rest.tag ^= tag;
  auto place = llvm::find_if(rows_, [&](const Row& row) { return row.vector < rest.vector; });
  rows_.insert(place, rest);
  return true;
}

std::optional<uint64_t> Span::solve(uint64_t vector) const {
  Row rest = reduce(vector);
  if (rest.vector != 0) return std::nullopt;
  return rest.tag;
}

Vectors intersect(llvm::ArrayRef<uint64_t> a, llvm::ArrayRef<uint64_t> b) {
  // Vectors of `a` that lie in `b` come first: they keep results readable. Then Zassenhaus: a tag is the part made of
  // `a`.
  Vectors found;
  Span spanB(b), result;
  for (uint64_t v : a)
    if (spanB.contains(v) && result.insert(v)) found.push_back(v);
  Span both;
  for (uint64_t v : a) both.insert(v, v);
  for (uint64_t v : b) {
    std::optional<uint64_t> partOfA = both.solve(v);
    if (!partOfA)
      both.insert(v);
    else if (result.insert(*partOfA))
      found.push_back(*partOfA);
  }
  return found;
}

Vectors extend(llvm::ArrayRef<uint64_t> space, llvm::ArrayRef<uint64_t> candidates) {
  Span span(space);
  Vectors taken;
  for (uint64_t v : candidates)
    if (span.insert(v)) taken.push_back(v);
  return taken;
}

uint64_t combine(llvm::ArrayRef<uint64_t> masks, uint64_t index) {
  uint64_t result = 0;
  for (size_t i = 0; i < masks.size(); ++i)
    if (index >> i & 1) result ^= masks[i];
  return result;
}

Vectors unitVectors(unsigned bits) {
  Vectors result;
  for (unsigned i = 0; i < bits; ++i) result.push_back(uint64_t(1) << i);
  return result;
}

}  // namespace tandem::layout
