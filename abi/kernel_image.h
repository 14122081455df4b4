// A KernelImage is all that the compiler hands to the runtime for one GPU kernel: the code, how to launch it, and the
// values that the launcher must prepare from the arguments. It is plain data: the compiler writes it; the runtime, the
// cache and bundles read it.
#pragma once
#include "abi/remark.h"
#include <array>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace tandem::abi {

// An integer computed on the host from the kernel's arguments: postfix, 64-bit, wrapping. `Argument` pushes argument
// `value` (integers sign-extended, pointers as they are); `Constant` pushes `value`; the others pop two. Divisions
// round towards zero; dividing by 0 gives 0.
struct HostExpr {
  enum class Op : uint8_t { Argument, Constant, Add, Sub, Mul, Div, Rem, Min, Max, And };
  struct Step {
    Op op;
    int64_t value = 0;
  };
  std::vector<Step> steps;
};

enum class ParamType : uint8_t { Pointer, I1, I8, I16, I32, I64, F16, BF16, F32, F64 };

// A tensor map (TMA descriptor) that the launcher encodes; a 128-byte kernel parameter after the ordinary ones.
struct TensorMapRecipe {
  enum class Element : uint8_t { U8, U16, U32, U64, F16, BF16, F32, F64 };
  Element element = Element::F16;
  HostExpr base;                  // bytes; 16-byte aligned
  std::vector<HostExpr> shape;    // elements, outermost first
  std::vector<HostExpr> strides;  // elements, outermost first; the last is 1
  std::vector<int32_t> box;       // elements that one copy moves, outermost dimension first
  int swizzleBytes = 0;           // 0, 32, 64, 128
  bool nanFill = false;           // value outside: NaN instead of zero
};

struct KernelImage {
  std::string name;    // the entry's symbol
  std::string target;  // "sm_90a"
  std::string cubin;   // empty: load `ptx` through the driver
  std::string ptx;
  // Code that spends registers, for launches whose blocks a GPU holds all at once although it has room for fewer of them
  // then: `roomyBlocks` on a multiprocessor. Empty: `cubin` is for all launches.
  std::string roomyCubin;
  int roomyBlocks = 0;
  int threads = 128;    // a program's threads, warps the compiler added included
  int sharedBytes = 0;  // dynamic shared memory
  std::array<int, 3> cluster{1, 1, 1};
  std::vector<ParamType> params;  // in the order of Program arguments (constexprs left out)
  std::vector<TensorMapRecipe> tensorMaps;
  // a hidden last parameter: the address of the rank's `tandem_dist_context` (dist_context.h)
  bool usesRanks = false;
  // Names of parameters that launches must pass pointers of memory apart for: the code does not expect a write through one
  // to be read through the other.
  std::vector<std::pair<std::string, std::string>> apart;
  bool usesGridBarrier = false;  // all programs of a launch must be resident at once
  bool folds = false;  // reduces or scans tiles, or has atomics: its bits may depend on how many threads there are
  int registers = 0, spillBytes = 0;  // as ptxas says; 0 when unknown
  std::vector<Remark> remarks;        // by their places in the kernel
};

}  // namespace tandem::abi
