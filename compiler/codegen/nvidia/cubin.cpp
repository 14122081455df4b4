// This file assembles PTX with ptxas and reads its counts of registers and spills.
#include "compiler/codegen/nvidia/codegen.h"
#include "compiler/codegen/nvidia/guard.h"
#include "compiler/codegen/nvidia/subprocess.h"
#include "compiler/target/occupancy.h"
#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>

namespace tandem::codegen {
namespace {

std::string readFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// In a program this long most threads keep their values in local memory, and ptxas' full effort is long and in vain: a
// gather of 4096 elements a thread takes 44 s to assemble and 1.6 ms to run, with the least effort 17 s and 1.1 ms;
// sorts take half the time to assemble and run 2% longer. wgmma needs the full effort.
constexpr long kLongProgram = 20000;

bool isLong(std::string_view ptx) {
  return std::count(ptx.begin(), ptx.end(), ';') > kLongProgram && ptx.find("wgmma.") == ptx.npos;
}

std::vector<std::string> commandLine(const std::string& ptxas, const target::TargetInfo& target,
                                     const CubinOptions& options, bool isLong, const std::string& input,
                                     const std::string& output) {
  std::vector<std::string> arguments{ptxas, "-arch=" + target.architecture(), "-v"};
  if (isLong) arguments.push_back("-O1");
  if (options.lineInfo) arguments.push_back("-lineinfo");
  arguments.insert(arguments.end(), {"-o", output, input});
  return arguments;
}

void readResources(Cubin& cubin) {
  static const std::regex registers("Used ([0-9]+) registers");
  static const std::regex frame("([0-9]+) bytes stack frame, ([0-9]+) bytes spill stores, ([0-9]+) bytes spill loads");
  static const std::regex serialised("wgmma.mma_async instructions are serialized due to (.*) in the function");
  if (std::smatch found; std::regex_search(cubin.log, found, serialised)) cubin.serialised = found[1];
  const std::sregex_iterator end;
  for (std::sregex_iterator it(cubin.log.begin(), cubin.log.end(), registers); it != end; ++it)
    cubin.registers = std::max(cubin.registers, std::stoi((*it)[1]));
  for (std::sregex_iterator it(cubin.log.begin(), cubin.log.end(), frame); it != end; ++it) {
    cubin.stackBytes = std::max(cubin.stackBytes, std::stoi((*it)[1]));
    cubin.spillBytes += std::stoi((*it)[2]) + std::stoi((*it)[3]);
  }
}

// Returns true if a kernel's registers are not ptxas' to choose: it states them, or its warps trade them.
bool boundsItself(std::string_view ptx) {
  return ptx.find("\n.maxnreg ") != ptx.npos || ptx.find("setmaxnreg.") != ptx.npos;
}

constexpr std::string_view kBlocksAskedFor = "\n.minnctapersm ";
constexpr int kMostBlocks = 5;    // beside five blocks, another one gives little
constexpr int kRegisterStep = 8;  // registers are given out in steps

// Returns true if registers alone keep a multiprocessor from holding half of its threads, or more than half where these
// are in few blocks, whose threads wait for each other.
bool areFew(const target::Occupancy& now, const target::TargetInfo& target, const BlockNeeds& block) {
  int held = 2 * now.blocks * block.threads, all = target.threadsPerMultiprocessor();
  return now.limit == std::string_view("registers") && (held < all || (held == all && now.blocks < kMostBlocks));
}

// ptxas ignores --maxrregcount where a kernel states its threads, so the text says it, in place of what it said before.
std::string withBlocks(std::string_view ptx, int blocks) {
  size_t line = ptx.find("\n.reqntid ");
  if (line == ptx.npos) return std::string(ptx);
  size_t end = ptx.find('\n', line + 1), rest = end;
  if (size_t asked = ptx.find(kBlocksAskedFor); asked != ptx.npos) {
    end = asked;
    rest = ptx.find('\n', asked + 1);
  }
  return std::string(ptx.substr(0, end)) + std::string(kBlocksAskedFor) + std::to_string(blocks) +
         std::string(ptx.substr(rest));
}

constexpr int kItsChoice = 0;  // ptxas is told no number of blocks

}  // namespace

int blocksAskedFor(std::string_view ptx) {
  size_t at = ptx.find(kBlocksAskedFor);
  return at == ptx.npos ? 0 : std::atoi(ptx.data() + at + kBlocksAskedFor.size());
}

std::optional<Cubin> toCubin(std::string_view ptx, const target::TargetInfo& target, const CubinOptions& options) {
  std::vector<std::string> searched;
  std::optional<std::string> ptxas = findPtxas(options.paths, searched);
  if (const char* named = std::getenv("TANDEM_PTXAS"); !ptxas && named && *named && options.paths.ptxas.empty())
    throw codegenError("missing-ptxas", "`TANDEM_PTXAS` names `" + std::string(named) + "`, which is no file");
  if (!ptxas) return std::nullopt;
  TemporaryFolder folder;
  std::string input = folder.file("kernel.ptx"), output = folder.file("kernel.cubin"), log = folder.file("log");
  std::ofstream(input, std::ios::binary) << ptx;
  int status = runProgram(commandLine(*ptxas, target, options, isLong(ptx), input, output), log);
  Cubin cubin;
  cubin.log = readFile(log);
  cubin.image = readFile(output);
  // A host that ignores its children's ends gives -1: then only the output shows whether ptxas succeeded.
  if (status > 0 || cubin.image.empty())
    throw codegenError("ptxas-failed",
                       "`" + *ptxas + "` failed with status " + std::to_string(status) + ":\n" + cubin.log);
  readResources(cubin);
  return cubin;
}

std::optional<Assembled> assemble(std::string_view ptx, const target::TargetInfo& target, const BlockNeeds& block,
                                  const CubinOptions& options) {
  bool isBound = boundsItself(ptx), isPlanned = isBound || blocksAskedFor(ptx);
  std::optional<Cubin> first = toCubin(isPlanned ? std::string(ptx) : withBlocks(ptx, 1), target, options);
  if (!first) return std::nullopt;
  Assembled out{*first, {}, 0};
  auto occupancy = [&](const Cubin& c) {
    return target::occupancyOf(target, block.threads, c.registers, block.sharedBytes);
  };
  constexpr int kNextToNothing = 32, kFew = 64;  // bytes, stored and read again
  // Code that spills more than a few bytes with all registers spills more with fewer, and ptxas takes longest for it.
  if (isBound || isLong(ptx) || first->spillBytes > kFew || !areFew(occupancy(*first), target, block)) return out;

  // There is no code where an instruction needs more registers than so many blocks leave.
  auto attempt = [&](int blocks) -> std::optional<Cubin> {
    try {
      return toCubin(blocks == kItsChoice ? std::string(ptx) : withBlocks(ptx, blocks), target, options);
    } catch (const CompileError&) {
      return std::nullopt;
    }
  };
  // More blocks fit, and no more is spilled, or next to nothing for twice the blocks, and products stay asynchronous.
  auto isBetter = [&](const std::optional<Cubin>& other, const Cubin& than) {
    if (!other) return false;
    int now = occupancy(than).blocks, then = occupancy(*other).blocks;
    int spilled = other->spillBytes - than.spillBytes;
    return then > now && spilled <= (then >= 2 * now ? kNextToNothing : 0) &&
           (other->serialised.empty() || !first->serialised.empty());
  };
  int blocks = occupancy(*first).blocks;
  auto take = [&](const Cubin& code) {
    out.cubin = code;
    out.roomyBlocks = blocks;
    if (blocks) out.roomy = first;
  };
  if (blocks && blocks < kMostBlocks && !first->spillBytes) {
    std::optional<Cubin> oneMore = attempt(blocks + 1);
    // A kernel that spills when one block more is asked for spills, too, where ptxas itself chooses more blocks, but for a
    // few bytes: with a number of its own ptxas may load later and have no need of them.
    if (isBetter(oneMore, *first))
      take(*oneMore);
    else if (!oneMore || !oneMore->spillBytes || oneMore->spillBytes > kFew)
      return out;
  }
  if (isPlanned) return out;
  std::optional<Cubin> choice = attempt(kItsChoice);
  if (!isBetter(choice, *first)) return out;
  target::Occupancy chosen = occupancy(*choice);
  if (chosen.blocks < kMostBlocks && areFew(chosen, target, block))
    if (std::optional<Cubin> next = attempt(chosen.blocks + 1); isBetter(next, *choice)) {
      take(*next);
      return out;
    }
  // ptxas' own choice may leave registers that so many blocks have, and wait for loads one by one for want of them.
  std::optional<Cubin> spent = out.cubin;
  Cubin more = *choice;
  more.registers += kRegisterStep;
  if (occupancy(*spent).blocks != chosen.blocks)
    spent = occupancy(more).blocks == chosen.blocks ? attempt(chosen.blocks) : std::nullopt;
  bool isSpent = spent && occupancy(*spent).blocks == chosen.blocks && spent->spillBytes <= choice->spillBytes;
  take(isSpent ? *spent : *choice);
  return out;
}

}  // namespace tandem::codegen
