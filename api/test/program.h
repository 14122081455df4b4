// Kernels and runs that the API's tests share.
#pragma once
#include "tandem/tandem.h"
#include <stdexcept>

namespace tandem {

inline constexpr char kHeader[] =
    "import tandem\nimport tandem.dist as dl\nimport tandem.language as tl\n\n@tandem.jit\n";

inline Kernel kernel(const std::string& body) { return Kernel::fromText(kHeader + body, "k.py"); }

inline Kernel addOne() { return kernel("def add_one(p):\n    tl.store(p, tl.load(p) + 1)\n"); }

template <class Exception> Exception thrownBy(const std::function<void(Team&)>& main, int ranks = 2) {
  try {
    launch(main, {.ranks = ranks});
  } catch (const Exception& e) {
    return e;
  }
  throw std::logic_error("nothing was thrown");
}

}  // namespace tandem
