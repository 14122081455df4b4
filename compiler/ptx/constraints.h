// The constraints of an inline assembly, in LLVM's form: `=r,=f,l,0,~{memory}`.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace tandem::ptx {

struct Constraint {
  unsigned bits = 32;  // of its register; 1 for a predicate
  int tiedTo = -1;     // an input in the register of this output
};

struct Constraints {
  std::vector<Constraint> outputs, inputs;
  std::string error;  // not empty: the text is wrong
};

Constraints parseConstraints(std::string_view text);

}  // namespace tandem::ptx
