// The parts of the emulated driver share these.
#pragma once
#include "emulator/counters.h"
#include "emulator/launch.h"
#include "emulator/memory.h"
#include "runtime/backend/cuda/host/streams.h"
#include <map>
#include <memory>
#include <string>

namespace tandem::runtime::cuda {

struct FunctionObject {
  const emulator::ptx::Function* text;
  std::shared_ptr<const emulator::Program> program;
};
struct ModuleObject {
  std::shared_ptr<const emulator::ptx::Module> text;
  std::map<std::string, Address> variables;
  std::map<std::string, std::unique_ptr<FunctionObject>> functions;
};

}  // namespace tandem::runtime::cuda

namespace tandem::emulator {

GlobalMemory& deviceMemory();
// Memory of the device, zeroed, with nothing reachable right before and behind it; null when there is none.
std::byte* allocate(size_t bytes);
// A launch has ended with an error: it is told, and every call from now on has its number as the result.
void fail(const Fault& fault);
// The counts of a kernel's launches, to go on with; null: nobody has asked for counts.
Counters* countersOf(const std::shared_ptr<const Program>& program);
void writeCounts();  // of all launches so far, in place of what was in the file

}  // namespace tandem::emulator
