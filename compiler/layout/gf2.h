// Vectors of bits under XOR: spans, solutions and complements. Knows nothing of layouts.
#pragma once
#include <llvm/ADT/ArrayRef.h>
#include <llvm/ADT/SmallVector.h>
#include <cstdint>
#include <optional>

namespace tandem::layout {

using Vectors = llvm::SmallVector<uint64_t, 16>;

// A space grown one vector at a time. Each accepted vector keeps the tag (a set of bits, XORed) that names it in
// solutions.
class Span {
 public:
  Span() = default;
  explicit Span(llvm::ArrayRef<uint64_t> vectors) { insertAll(vectors); }

  // True if the vector was not in the space yet.
  bool insert(uint64_t vector, uint64_t tag = 0);
  void insertAll(llvm::ArrayRef<uint64_t> vectors) {
    for (uint64_t v : vectors) insert(v);
  }
  bool contains(uint64_t vector) const { return reduce(vector).vector == 0; }
  // The XOR of the tags of the inserted vectors that make up `vector`; nothing if it is outside.
  std::optional<uint64_t> solve(uint64_t vector) const;
  unsigned dimension() const { return rows_.size(); }

 private:
  struct Row {
    uint64_t vector, tag;
  };
  Row reduce(uint64_t vector) const;
  llvm::SmallVector<Row, 16> rows_;  // highest bits differ, highest first
};

// A basis of the intersection of two spans.
Vectors intersect(llvm::ArrayRef<uint64_t> a, llvm::ArrayRef<uint64_t> b);
// Returns those of `candidates`, in order, that each enlarge the span of `space` and of the ones taken before.
Vectors extend(llvm::ArrayRef<uint64_t> space, llvm::ArrayRef<uint64_t> candidates);
// XOR of `masks[i]` over the set bits `i` of `index`.
uint64_t combine(llvm::ArrayRef<uint64_t> masks, uint64_t index);
// The vectors 1, 2, 4, ... of a space of `bits` bits.
Vectors unitVectors(unsigned bits);

}  // namespace tandem::layout
