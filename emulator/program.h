// A kernel decoded: instructions over slots, and what a warp's frame holds before the first.
#pragma once
#include "emulator/instruction.h"
#include "emulator/ptx/module.h"
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace tandem::emulator {

// What a slot holds from the start of a warp on.
struct Initial {
  enum class Kind : uint8_t {
    Constant,  // `value`
    Param,     // the address of the launch's parameters and `value`
    Local,     // the address of each thread's own memory and `value`
    TidX,
    TidY,
    TidZ,
    NtidX,
    NtidY,
    NtidZ,
    CtaidX,
    CtaidY,
    CtaidZ,
    NctaidX,
    NctaidY,
    NctaidZ,
    ClusterIdX,
    ClusterIdY,
    ClusterIdZ,
    NclusterIdX,
    NclusterIdY,
    NclusterIdZ,
    ClusterCtaidX,
    ClusterCtaidY,
    ClusterCtaidZ,
    ClusterNctaidX,
    ClusterNctaidY,
    ClusterNctaidZ,
    ClusterCtarank,
    ClusterNctarank,
    Laneid,
    Warpid,
    Nwarpid,
    Smid,
    Nsmid,
    Gridid,
    LanemaskEq,
    LanemaskLt,
    LanemaskLe,
    LanemaskGt,
    LanemaskGe,
    DynamicSharedBytes,
    TotalSharedBytes
  };
  Slot slot;
  Kind kind;
  uint64_t value;
};

struct Parameter {
  uint32_t at, bytes;  // in the launch's buffer
};

struct Program {
  std::shared_ptr<const ptx::Module> module;
  const ptx::Function* function = nullptr;
  std::vector<Instruction> code;  // the last one ends every thread that comes to it
  std::vector<const Statement*> statements;
  std::vector<Initial> initial;
  uint32_t slotCount = 0, predicateCount = 1;
  std::vector<Parameter> parameters;
  uint32_t parameterBytes = 0;
  uint32_t staticSharedBytes = 0;
  uint32_t localBytes = 0;  // of a thread

  // owned, for the instructions
  std::deque<std::vector<Slot>> lists;
  std::vector<std::shared_ptr<const void>> details;
  std::deque<uint32_t> labels;
};

// A statement's line, text and source place, for reports.
std::string placeOf(const Program& program, const Statement& statement);

// Decodes the entry with all functions that it calls. `addressOf` says where a variable of the module (.global, .const)
// lies. Throws ptx::ParseError for what the emulator does not know.
std::shared_ptr<const Program> build(std::shared_ptr<const ptx::Module> module, const ptx::Function& entry,
                                     const std::function<uint64_t(const std::string&)>& addressOf);

}  // namespace tandem::emulator
