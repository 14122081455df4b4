// Optimises a module for a GPU and prints it as PTX.
#include "compiler/codegen/nvidia/codegen.h"
#include "compiler/codegen/nvidia/compute_late.h"
#include "compiler/codegen/nvidia/constants_last.h"
#include "compiler/codegen/nvidia/guard.h"
#include "compiler/codegen/nvidia/loads_first.h"
#include "compiler/codegen/nvidia/loop_ends.h"
#include "compiler/codegen/nvidia/shuffles.h"
#include "compiler/codegen/nvidia/target_machine.h"
#include <llvm/IR/InlineAsm.h>
#include <llvm/IR/InstIterator.h>
#include <llvm/IR/Instructions.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/OptBisect.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/raw_ostream.h>

namespace tandem::codegen {
namespace {

// LLVM duplicates assembly into both arms of a branch unless it is convergent, which splits a warp that must act
// together. Assembly without side effects keeps the attributes that it has.
void markInlineAssembly(llvm::Module& module) {
  for (llvm::Function& function : module)
    for (llvm::Instruction& instruction : llvm::instructions(function)) {
      auto* call = llvm::dyn_cast<llvm::CallInst>(&instruction);
      auto* assembly = call ? llvm::dyn_cast<llvm::InlineAsm>(call->getCalledOperand()) : nullptr;
      if (!assembly) continue;
      call->setDoesNotThrow();
      if (assembly->hasSideEffects()) call->setConvergent();
    }
}

void verify(const llvm::Module& module) {
  std::string problem;
  llvm::raw_string_ostream stream(problem);
  if (llvm::verifyModule(module, &stream)) throw codegenError("internal", "generated IR is not valid: " + problem);
}

// The managers' destructors would meet half-done passes if one failed, so a failure leaves them behind.
struct Pipeline {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  llvm::ModulePassManager passes;
};

llvm::PipelineTuningOptions tuning() {
  llvm::PipelineTuningOptions options;
  // A thread has no vector unit; tiles arrive already spread over registers.
  options.LoopVectorization = false;
  options.LoopInterleaving = false;
  options.SLPVectorization = false;
  return options;
}

void optimise(llvm::Module& module, llvm::TargetMachine& machine, int level) {
  auto pipeline = std::make_unique<Pipeline>();
  Pipeline* p = pipeline.release();
  llvm::PassBuilder builder(&machine, tuning());
  builder.registerModuleAnalyses(p->modules);
  builder.registerCGSCCAnalyses(p->components);
  builder.registerFunctionAnalyses(p->functions);
  builder.registerLoopAnalyses(p->loops);
  builder.crossRegisterProxies(p->loops, p->functions, p->components, p->modules);
  using Level = llvm::OptimizationLevel;
  if (level <= 0)
    p->passes = builder.buildO0DefaultPipeline(Level::O0);
  else
    p->passes = builder.buildPerModuleDefaultPipeline(level == 1 ? Level::O1 : level == 2 ? Level::O2 : Level::O3);
  p->passes.run(module, p->modules);
  pipeline.reset(p);
}

// Straight-line strength reduction compares every address with those before it, so its time grows by the square of a
// function's length and more: one or two seconds at this many instructions, most of a minute at eight times as many. A
// thread that holds so much keeps most of it in local memory, beside which a multiplication saved is nothing.
constexpr unsigned kLongFunction = 5500;

class WithoutStrengthReduction : public llvm::OptPassGate {
 public:
  bool isEnabled() const override { return true; }
  bool shouldRunPass(llvm::StringRef pass, llvm::StringRef) const override { return pass != "slsr"; }
};

void limitPasses(llvm::Module& module) {
  static WithoutStrengthReduction gate;
  if (llvm::any_of(module, [](const llvm::Function& f) { return f.getInstructionCount() > kLongFunction; }))
    module.getContext().setOptPassGate(gate);
}

std::string print(llvm::Module& module, llvm::TargetMachine& machine) {
  limitPasses(module);
  llvm::SmallString<0> text;
  llvm::raw_svector_ostream stream(text);
  auto* passes = new llvm::legacy::PassManager;
  if (machine.addPassesToEmitFile(*passes, stream, nullptr, llvm::CodeGenFileType::AssemblyFile))
    throw codegenError("internal", "LLVM cannot print PTX");
  passes->run(module);
  delete passes;
  return std::string(text);
}

// ptxas 13.0 multiplies by the 64-bit number -2**31 for some 64-bit shifts by 31, whose sum with an address is then 2**32 x too large.
// Such a shift becomes one of halves.
std::string withoutShiftsBy31(llvm::StringRef ptx) {
  std::string out;
  while (!ptx.empty()) {
    auto [line, rest] = ptx.split('\n');
    llvm::StringRef shift = line.trim();
    if (shift.consume_front("shl.b64") && shift.consume_back(", 31;")) {
      auto [to, from] = shift.trim().split(", ");
      out += ("\t{ .reg .b32 low, high; mov.b64 {low, high}, " + from + "; shf.l.wrap.b32 high, low, high, 31; " +
              "shl.b32 low, low, 31; mov.b64 " + to + ", {low, high}; }\n")
                 .str();
    } else {
      out += (line + "\n").str();
    }
    ptx = rest;
  }
  return out;
}

std::string kernelNames(const llvm::Module& module) {
  std::string names;
  for (const llvm::Function& f : module)
    if (f.getCallingConv() == llvm::CallingConv::PTX_Kernel)
      names += (names.empty() ? "`" : ", `") + f.getName().str() + "`";
  return names;
}

}  // namespace

void prepareModule(llvm::Module& module, const target::TargetInfo& target) {
  auto machine = makeTargetMachine(target, 3, true);
  module.setTargetTriple(machine->getTargetTriple());
  module.setDataLayout(machine->createDataLayout());
}

std::string toPtx(llvm::Module& module, const target::TargetInfo& target, const PtxOptions& options) {
  std::string ptx;
  guarded("generate code for " + kernelNames(module), module.getContext(), [&] {
    llvm::TargetMachine* machine = makeTargetMachine(target, options.optLevel, options.fuseMulAdd).release();
    markInlineAssembly(module);
    verify(module);
    optimise(module, *machine, options.optLevel);
    if (options.optLevel > 0) {
      putConstantsLast(module);
      putLoadsFirst(module);
      computeLate(module, target);
      endLoopsByRepeating(module);
    }
    if (target.hasSlowShuffleAssembly()) divideShuffles(module);
    ptx = withoutShiftsBy31(print(module, *machine));
    delete machine;
  });
  return ptx;
}

}  // namespace tandem::codegen
