// Modules are PTX: their kernels are decoded when they are asked for, and run as pieces of their streams' work.
#include "emulator/driver/driver.h"
#include <algorithm>
#include <cstdlib>
#include <cstring>

using namespace tandem::runtime::cuda;
namespace emulator = tandem::emulator;

namespace {

constexpr Result kInvalidPtx = 218, kNotFound = 500;
constexpr uint64_t kPiece = 2000000;  // instructions of warps, before other streams' turn
constexpr uint32_t kThreadsPerMultiprocessor = 2048, kBlocksPerMultiprocessor = 32;
constexpr uint32_t kSharedPerMultiprocessor = 228 * 1024, kSharedOfSystem = 1024;

void writeLog(unsigned count, JitOption* options, void** values, const std::string& text) {
  size_t room = 0;
  char* log = nullptr;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] == JitOption::ErrorLogBuffer) log = static_cast<char*>(values[i]);
    if (options[i] == JitOption::ErrorLogBufferSizeBytes) room = reinterpret_cast<size_t>(values[i]);
  }
  if (log && room) log[text.copy(log, room - 1)] = '\0';
}

Address addressIn(const ModuleObject& module, const std::string& name) {
  auto found = module.variables.find(name);
  if (found == module.variables.end()) throw emulator::ptx::ParseError(0, "`" + name + "` is in no module");
  return found->second;
}

void placeVariables(ModuleObject& module) {
  using emulator::Space;
  for (const emulator::ptx::Variable& variable : module.text->variables) {
    if (variable.space != Space::Global && variable.space != Space::Const) continue;
    std::byte* at = emulator::allocate(std::max<size_t>(1, variable.bytes));
    if (!at) throw emulator::ptx::ParseError(0, "no memory for `" + variable.name + "`");
    std::copy(variable.initial.begin(), variable.initial.end(), reinterpret_cast<uint8_t*>(at));
    module.variables[variable.name] = reinterpret_cast<Address>(at);
  }
  for (const emulator::ptx::Variable& variable : module.text->variables)
    for (const emulator::ptx::Variable::Pointer& pointer : variable.pointers) {
      uint64_t value = addressIn(module, pointer.name) + uint64_t(pointer.offset);
      std::memcpy(reinterpret_cast<std::byte*>(module.variables[variable.name]) + pointer.at, &value, sizeof value);
    }
}

uint32_t residentBlocks(const emulator::Program& program, const emulator::Shape& shape) {
  uint32_t sharedBytes = program.staticSharedBytes + shape.dynamicSharedBytes;
  uint32_t shared = kSharedPerMultiprocessor / (sharedBytes + kSharedOfSystem);
  uint32_t threads = kThreadsPerMultiprocessor / (shape.block[0] * shape.block[1] * shape.block[2]);
  return emulator::Launch::kMultiprocessors * std::max(1u, std::min({kBlocksPerMultiprocessor, shared, threads}));
}

bool checksOrder() {
  const char* value = std::getenv("TANDEM_EMULATOR_CHECK");
  return !value || std::string_view(value) != "0";
}

}  // namespace

HOST_DRIVER Result cuModuleLoadDataEx(Module* module, const void* image, unsigned count, JitOption* options,
                                      void** values) {
  if (Result r = result("cuModuleLoadDataEx")) return r;
  const char* text = static_cast<const char*>(image);
  if (std::string_view(text).starts_with("\x7f"
                                         "ELF")) {
    writeLog(count, options, values, "the emulator runs PTX: let TANDEM_PTXAS name a program that hands it through");
    return kNoBinaryForGpu;
  }
  try {
    auto made = std::make_unique<ModuleObject>();
    made->text = std::make_shared<emulator::ptx::Module>(emulator::ptx::parse(text));
    placeVariables(*made);
    for (const auto& [name, function] : made->text->functions)
      if (function.isEntry)
        made->functions[name] = std::make_unique<FunctionObject>(
            &function,
            emulator::build(made->text, function, [&](const std::string& n) { return addressIn(*made, n); }));
    *module = made.release();  // nothing unloads it
  } catch (const emulator::ptx::ParseError& e) {
    writeLog(count, options, values, e.what());
    return kInvalidPtx;
  }
  return kSuccess;
}
HOST_DRIVER Result cuModuleGetFunction(Function* function, Module module, const char* name) {
  auto found = module->functions.find(name);
  return found == module->functions.end() ? kNotFound : (*function = found->second.get(), kSuccess);
}
HOST_DRIVER Result cuModuleGetGlobal_v2(Address* at, size_t* bytes, Module module, const char* name) {
  auto found = module->variables.find(name);
  if (found == module->variables.end()) return kNotFound;
  if (at) *at = found->second;
  emulator::Range range = emulator::deviceMemory().find(found->second);
  if (bytes) *bytes = range.end - range.begin;
  return kSuccess;
}
HOST_DRIVER Result cuFuncSetAttribute(Function, FunctionAttribute, int) { return result("cuFuncSetAttribute"); }
// Registers are given out by ptxas, and nobody else knows how many.
HOST_DRIVER Result cuFuncGetAttribute(int* value, FunctionAttribute a, Function function) {
  *value = a == FunctionAttribute::SharedSizeBytes      ? int(function->program->staticSharedBytes)
           : a == FunctionAttribute::LocalSizeBytes     ? int(function->program->localBytes)
           : a == FunctionAttribute::MaxThreadsPerBlock ? int(function->text->threads ? function->text->threads : 1024)
                                                        : 0;
  return kSuccess;
}

HOST_DRIVER Result cuLaunchKernelEx(const DriverLaunch* l, Function function, void** params, void**) {
  if (Result r = result("cuLaunchKernelEx")) return r;
  const emulator::Program& program = *function->program;
  emulator::Shape shape;
  for (size_t i = 0; i < 3; ++i) shape.grid[i] = l->grid[i], shape.block[i] = l->block[i];
  shape.dynamicSharedBytes = l->sharedBytes;
  for (unsigned i = 0; i < l->attributeCount; ++i)
    if (l->attributes[i].id == LaunchAttribute::ClusterDimension)
      std::copy_n(l->attributes[i].size, 3, shape.cluster.begin());
  for (size_t i = 0; i < 3; ++i)
    if (!shape.cluster[i] || shape.grid[i] % shape.cluster[i]) return kInvalidValue;
  std::vector<std::byte> parameters(program.parameterBytes);
  for (size_t i = 0; i < program.parameters.size(); ++i)
    std::memcpy(&parameters[program.parameters[i].at], params[i], program.parameters[i].bytes);
  auto begin = [=, program = function->program] {
    auto launch = std::make_shared<emulator::Launch>(program, shape, parameters, emulator::deviceMemory(),
                                                     residentBlocks(*program, shape));
    if (checksOrder()) launch->checkOrder();
    launch->count(emulator::countersOf(program));
    return launch;
  };
  return enqueue(l->stream, [begin, launch = std::shared_ptr<emulator::Launch>()]() mutable {
    if (result("cuLaunchKernelEx")) return true;  // of an earlier launch
    try {
      if (!launch) launch = begin();
      if (!launch->run(kPiece)) return false;
      if (launch->counters()) emulator::writeCounts();
      launch.reset();
      return true;
    } catch (const emulator::Fault& fault) {
      emulator::fail(fault);
      return true;
    }
  });
}
