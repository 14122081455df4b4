// This file resolves each instruction once: its handler, kernel, operands without flags, registers to release, and if a
// back edge may spin.
#include "interpreter/vm/prepared.h"
#include "interpreter/vm/handlers.h"
#include "interpreter/vm/spin.h"
#include <algorithm>

namespace tandem::interpreter {
namespace {

RegisterInfo infoOf(const RegisterType& t) {
  RegisterInfo i;
  i.extent = t.extent;
  i.elem = t.elem;
  i.elemBytes = uint8_t(byteSize(t.elem));
  i.vectorLength = t.vectorLength;
  i.count = t.count();
  i.shape = &t.shape;
  i.isInline = t.extent == Extent::Smem || (t.extent == Extent::Uniform && t.vectorLength == 1);
  return i;
}

Handler handlerOf(Op op) {
  static constexpr Handler all[] = {
#define TANDEM_OP(name, word, handler, ...) handlers::handler,
#include "interpreter/op.def"
  };
  return size_t(op) < std::size(all) ? all[size_t(op)] : handlers::malformed;
}

// Finds the kernel of an elementwise op; says false when there is none.
bool resolveKernel(const PreparedProgram& program, const Instruction& i, Prepared& p) {
  switch (i.op) {
    case Op::Unary: return (p.kernel.unary = unaryKernel(UnaryOp(i.sub), i.elem));
    case Op::Binary: return (p.kernel.binary = binaryKernel(BinaryOp(i.sub), i.elem));
    case Op::Compare: return (p.kernel.binary = compareKernel(CompareOp(i.sub), i.elem));
    case Op::Select: return (p.kernel.ternary = selectKernel(program.registers[p.r].elem));
    case Op::Fma: return (p.kernel.ternary = fmaKernel(i.elem));
    case Op::Clamp: return (p.kernel.ternary = clampKernel(i.elem, i.sub == 1));
    case Op::Convert: return (p.kernel.unary = convertKernel(ConvertOp(i.sub), i.elem, program.registers[p.r].elem));
    case Op::Extern:
      if (i.operandCount > 8 || i.immediateCount < 1) return false;
      p.kernel.external =
          externKernel(program.program->strings[size_t(p.as<imm::Extern>().symbol)], i.elem, int(i.operandCount));
      return p.kernel.external;
    default: return true;
  }
}

// Every register an instruction of [begin, end) writes.
std::vector<Register> writtenIn(const Program& program, uint32_t begin, uint32_t end) {
  std::vector<Register> written;
  for (uint32_t pc = begin; pc < end; ++pc)
    for (Register r : program.results(program.code[pc])) written.push_back(r);
  std::sort(written.begin(), written.end());
  written.erase(std::unique(written.begin(), written.end()), written.end());
  return written;
}

// A back edge of a per-thread loop has no list of carried registers: all that a short loop writes stand for them.
void findSpinLoop(PreparedProgram& out, uint32_t pc, Prepared& p) {
  constexpr uint32_t kLongest = 64;
  const Program& program = *out.program;
  const Instruction& i = program.code[pc];
  uint32_t target = uint32_t(p.as<imm::Jump>().target);
  auto inner = std::find_if(out.loops.begin(), out.loops.end(), [=](const SpinLoop& l) { return l.pc >= target; });
  p.loop = uint32_t(out.loops.size());
  p.firstInnerLoop = uint32_t(inner - out.loops.begin());
  std::vector<Register> carried;
  if (i.op == Op::LoopBack) {
    carried.assign(p.operands, p.operands + p.operandCount);
  } else {
    if (target > pc) return;
    p.handler = handlers::jumpBack;
    if (pc - target > kLongest) return;
    bool perThread = false;
    for (uint32_t k = target; k < pc; ++k) perThread = perThread || program.code[k].op == Op::LoopTest;
    if (!perThread) return;
    carried = writtenIn(program, target, pc);
    p.handler = handlers::jumpSpin;
  }
  out.loops.push_back(spinLoop(program, target, pc, carried));
}

bool isRead(const Program& program, Register r) {
  return std::any_of(program.operandPool.begin(), program.operandPool.end(),
                     [=](uint32_t o) { return (o & ~kLastUse) == r; });
}

// Returns true if a select, a condition beside it or a tile's mask may leave the instruction's result out.
bool mayBeLeftOut(const Program& program, uint32_t pc) {
  Register from = program.results(program.code[pc])[0];
  bool isTile = program.registers[from].extent == Extent::Tile;
  std::vector<bool> follows(program.registers.size());
  follows[from] = true;
  for (uint32_t at = pc + 1; at < program.code.size(); ++at) {
    const Instruction& i = program.code[at];
    auto operands = program.operands(i);
    auto uses = [&](size_t k) {
      return k < operands.size() && operands[k] != kNone && follows[operands[k] & ~kLastUse];
    };
    auto isGiven = [&](size_t k) { return k < operands.size() && operands[k] != kNone; };
    size_t mask = i.op == Op::Load ? 1 : i.op == Op::Store || i.op == Op::AtomicRmw ? 2 : 0;
    bool isCondition = i.op == Op::Binary && (BinaryOp(i.sub) == BinaryOp::And || BinaryOp(i.sub) == BinaryOp::Or);
    bool used = false;
    for (size_t k = 0; k < operands.size(); ++k) used |= uses(k);
    if (!used) continue;
    if (isCondition || (i.op == Op::Select && !uses(0)) || (mask && isTile && isGiven(mask))) return true;
    if (i.op != Op::Load && i.op != Op::AtomicRmw)
      for (Register r : program.results(i)) follows[r] = true;
  }
  return false;
}

void prepareOne(PreparedProgram& out, uint32_t pc) {
  const Program& program = *out.program;
  const Instruction& i = program.code[pc];
  Prepared& p = out.code[pc];
  std::vector<Register>& operands = out.pools.emplace_back();
  std::vector<Register>& releases = out.pools.emplace_back();
  auto results = program.results(i);
  for (uint32_t raw : program.operands(i)) {
    Register r = raw & ~kLastUse;
    operands.push_back(r);
    if (!(raw & kLastUse) || r == kNone || out.registers[r].isInline) continue;
    if (std::find(results.begin(), results.end(), r) == results.end() &&
        std::find(releases.begin(), releases.end(), r) == releases.end())
      releases.push_back(r);
  }
  p.handler = handlerOf(i.op);
  p.operands = operands.data();
  p.operandCount = i.operandCount;
  p.results = results.data();
  p.resultCount = i.resultCount;
  p.immediates = program.immediates(i).data();
  p.immediateCount = i.immediateCount;
  p.releases = releases.data();
  p.releaseCount = uint32_t(releases.size());
  if (i.operandCount > 0) p.a = operands[0];
  if (i.operandCount > 1) p.b = operands[1];
  if (i.operandCount > 2) p.c = operands[2];
  if (i.resultCount > 0) p.r = results[0];
  p.op = i.op;
  p.sub = i.sub;
  p.elem = i.elem;
  p.meets = meetsOf(p);
  p.elemBytes = uint8_t(byteSize(i.elem));
  p.location = i.location;
  if (!resolveKernel(out, i, p))
    p.handler = handlers::malformed;
  else if (Handler scalar = scalarHandler(out, i, p))
    p.handler = scalar;
  else if (i.op == Op::Binary && isIntegerDivision(BinaryOp(i.sub)) && !mayBeLeftOut(program, pc))
    p.handler = handlers::division;
  Register reused = i.op == Op::Dot ? p.c : p.a;  // whose buffer the result may take
  if (p.r != kNone && reused != kNone) {
    const RegisterInfo &a = out.registers[reused], &r = out.registers[p.r];
    bool last = std::find(releases.begin(), releases.end(), reused) != releases.end() || reused == p.r;
    p.inPlace =
        last && !a.isInline && !r.isInline && a.extent == r.extent && a.elemBytes == r.elemBytes && a.count == r.count;
  }
  if (i.op == Op::LoopBack || i.op == Op::Jump) findSpinLoop(out, pc, p);
  if ((i.op == Op::SignalWait || i.op == Op::AtomicRmw) && p.r != kNone) p.resultUsed = isRead(program, p.r);
}

}  // namespace

bool isIntegerDivision(BinaryOp op) {
  switch (op) {
    case BinaryOp::DivS:
    case BinaryOp::DivU:
    case BinaryOp::RemS:
    case BinaryOp::RemU:
    case BinaryOp::FloorDivS:
    case BinaryOp::CeilDivS:
    case BinaryOp::CeilDivU: return true;
    default: return false;
  }
}

std::unique_ptr<PreparedProgram> prepare(ProgramPtr program) {
  auto out = std::make_unique<PreparedProgram>();
  out->program = program;
  for (const RegisterType& t : program->registers) out->registers.push_back(infoOf(t));
  out->code.resize(program->code.size());
  for (uint32_t pc = 0; pc < program->code.size(); ++pc) prepareOne(*out, pc);
  return out;
}

}  // namespace tandem::interpreter
