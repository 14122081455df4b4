// This room turns an LLVM module into code that a driver loads: kernel attributes, libdevice, optimisation, PTX, cubin.
// It knows LLVM, and nothing of tiles.
//
// Order of use: prepareModule, build functions (markKernel), linkNvshmem, linkLibdevice, toPtx, toCubin.
// All of them report by CompileError and never end the process. When one has thrown, the module and its context may be
// broken inside LLVM: release them, do not destroy them.
#pragma once
#include "compiler/codegen/nvidia/kernel.h"
#include "compiler/codegen/gpu/line_table.h"
#include "compiler/codegen/nvidia/tool_search.h"
#include "compiler/target/target_info.h"
#include <llvm/IR/Module.h>
#include <optional>
#include <string>
#include <string_view>

namespace tandem::codegen {

// Gives `module` the target's triple and data layout; to be called before instructions are built.
void prepareModule(llvm::Module& module, const target::TargetInfo& target);

// Links those functions of libdevice that are called (`__nv_*`), as internal functions; without such calls nothing is
// looked for. `flushDenormals` picks libdevice's flushing variants, as Triton does. Errors: "missing-libdevice" (names
// the first function and the places searched), "unknown-libdevice-function".
void linkLibdevice(llvm::Module& module, const ToolPaths& paths = {}, bool flushDenormals = true);

// Links those functions of NVSHMEM's device library that are called (`nvshmem*`), as internal functions; without such
// calls no library is looked for. Symbols that the host library must find by name stay visible.
// Errors: "missing-nvshmem" (names the first function and the places searched, or the file).
void linkNvshmem(llvm::Module& module);

struct PtxOptions {
  int optLevel = 3;        // 0 to 3, of the IR's pipeline and of the code generator
  bool fuseMulAdd = true;  // a * b + c may become one fma
};

// Optimises `module` in place and prints it as PTX. The module must have been prepared for the same target.
std::string toPtx(llvm::Module& module, const target::TargetInfo& target, const PtxOptions& options = {});

struct CubinOptions {
  bool lineInfo = false;  // keep the PTX's `.loc`s
  ToolPaths paths{};
};

// A block of a kernel takes these beside registers.
struct BlockNeeds {
  int threads = 0, sharedBytes = 0;
};

struct Cubin {
  std::string image;
  int registers = 0;       // a thread's, the most of all entries
  int spillBytes = 0;      // stores and loads, summed over all entries
  int stackBytes = 0;      // a thread's, the most of all entries
  std::string serialised;  // why ptxas has each wgmma wait for the one before; empty: it has not
  std::string log;         // the output of ptxas
};

// Assembles with ptxas; nothing when no ptxas is found, in which case the driver compiles the PTX.
// Errors: "ptxas-failed" with ptxas' text, "missing-ptxas" when $TANDEM_PTXAS names no file.
std::optional<Cubin> toCubin(std::string_view ptx, const target::TargetInfo& target, const CubinOptions& options = {});

// A kernel's code, and where it has fewer registers than would be quickest, so that more blocks fit on a multiprocessor,
// the code with all of them, `roomyBlocks` of which fit.
struct Assembled {
  Cubin cubin;
  std::optional<Cubin> roomy;
  int roomyBlocks = 0;
};

// Returns the number of blocks that the PTX of one kernel asks a multiprocessor to hold (.minnctapersm); 0 if none.
int blocksAskedFor(std::string_view ptx);

// Assembles the PTX of one kernel. Where it neither bounds its registers (.maxnreg) nor has warps that trade theirs,
// ptxas first may spend registers as if one block were enough, or as many as it asks for (.minnctapersm). If that keeps a
// multiprocessor from holding half of its threads, ptxas makes room for one block more, unless it holds many; if that
// fits but for a few bytes, and the PTX asks for no blocks, ptxas weighs registers against blocks itself, and makes room
// for one more than that. Each result is taken if more blocks fit and no more spills, or twice as many blocks fit and a
// few bytes more spill.
std::optional<Assembled> assemble(std::string_view ptx, const target::TargetInfo& target, const BlockNeeds& block,
                                  const CubinOptions& options = {});

}  // namespace tandem::codegen
