// The values of `pack` elements as words for the text's registers, and back. Elements narrower than 32 bits share a
// word, the first lowest.
#pragma once
#include "compiler/lower/sim/program_builder.h"
#include <llvm/ADT/SmallVector.h>

namespace tandem::lower {

class Packing {
 public:
  using Register = interpreter::Register;
  using Elem = interpreter::Elem;

  // The values have the extent and shape of `like`. A tile's size and `pack` are powers of two unless `pack` is 1.
  Packing(ProgramBuilder& build, interpreter::RegisterType like, int64_t pack)
      : build_(build), like_(std::move(like)), pack_(pack) {}

  // The type of a register that holds one word of each group of `pack` elements.
  interpreter::RegisterType group() const;
  // Returns the number of words that a group of such elements takes.
  int64_t words(Elem elem) const { return pack_ / perWord(elem); }
  llvm::SmallVector<Register> pack(Register value);
  // `words`, which may be wider than needed, to `result`.
  void unpack(llvm::ArrayRef<Register> words, Register result);

 private:
  int64_t perWord(Elem elem) const;
  Register shaped(interpreter::Op op, Register from, Elem elem, std::vector<int64_t> shape);
  Register resized(Register word, Elem to);
  llvm::SmallVector<Register> deal(Register all, int64_t count);
  Register gather(llvm::ArrayRef<Register> words);
  Register spread(Register value);
  Register repeated(Register value);

  ProgramBuilder& build_;
  interpreter::RegisterType like_;
  int64_t pack_;
};

}  // namespace tandem::lower
