// Programs by hand.
#include "interpreter/test/program_builder.h"

namespace tandem::interpreter::test {

ProgramBuilder::ProgramBuilder(const std::string& name) : program_(std::make_shared<Program>()) {
  program_->name = name;
}

Register ProgramBuilder::make(RegisterType t) {
  program_->registers.push_back(std::move(t));
  return Register(program_->registers.size() - 1);
}
Register ProgramBuilder::uniform(Elem e, int vectorLength) {
  return make({e, Extent::Uniform, uint16_t(vectorLength), {}});
}
Register ProgramBuilder::lanes(Elem e, int vectorLength) {
  program_->perThread = true;
  return make({e, Extent::Lanes, uint16_t(vectorLength), {}});
}
Register ProgramBuilder::tile(Elem e, std::vector<int64_t> shape) {
  return make({e, Extent::Tile, 1, std::move(shape)});
}
Register ProgramBuilder::smem(Elem e, std::vector<int64_t> shape) {
  return make({e, Extent::Smem, 1, std::move(shape)});
}
Register ProgramBuilder::pointerArgument(const std::string& name, Elem pointee) {
  Register r = uniform(Elem::I64);
  program_->arguments.push_back({name, r, Elem::I64, true, pointee});
  return r;
}
Register ProgramBuilder::argument(const std::string& name, Elem e) {
  Register r = uniform(e);
  program_->arguments.push_back({name, r, e, false, {}});
  return r;
}

uint32_t ProgramBuilder::add(Op op, Elem elem, std::vector<uint32_t> operands, std::vector<Register> results,
                             std::vector<int64_t> immediates, uint8_t sub) {
  Program& p = *program_;
  Instruction i{op,
                sub,
                elem,
                uint32_t(p.operandPool.size()),
                uint32_t(operands.size()),
                uint32_t(p.resultPool.size()),
                uint32_t(results.size()),
                uint32_t(p.immediatePool.size()),
                uint32_t(immediates.size()),
                uint32_t(p.locations.size())};
  p.operandPool.insert(p.operandPool.end(), operands.begin(), operands.end());
  p.resultPool.insert(p.resultPool.end(), results.begin(), results.end());
  p.immediatePool.insert(p.immediatePool.end(), immediates.begin(), immediates.end());
  p.code.push_back(i);
  uint32_t line = uint32_t(p.code.size());
  source_ += "instruction " + std::to_string(line) + "\n";
  p.locations.push_back({0, {line, 1, line, 12}, kNoLocation});
  return line - 1;
}

Register ProgramBuilder::constant(Elem e, int64_t bits) {
  Register r = uniform(e);
  add(Op::Constant, e, {}, {r}, {bits, 0});
  return r;
}
Register ProgramBuilder::constantTile(Elem e, std::vector<int64_t> shape, int64_t bits) {
  Register r = tile(e, std::move(shape));
  add(Op::Constant, e, {}, {r}, {bits, 0});
  return r;
}
Register ProgramBuilder::binary(BinaryOp op, Register a, Register b) {
  Register r = make(RegisterType(program_->registers[a]));
  add(Op::Binary, program_->registers[a].elem, {a, b}, {r}, {}, uint8_t(op));
  return r;
}
Register ProgramBuilder::compare(CompareOp op, Register a, Register b) {
  RegisterType t = program_->registers[a];
  Elem e = t.elem;
  t.elem = Elem::I1;
  Register r = make(t);
  add(Op::Compare, e, {a, b}, {r}, {}, uint8_t(op));
  return r;
}
Register ProgramBuilder::offset(Register pointer, Register by, int64_t bytes) {
  RegisterType t =
      program_->registers[pointer].extent == Extent::Uniform ? program_->registers[by] : program_->registers[pointer];
  Elem e = program_->registers[by].elem;
  t.elem = Elem::I64;
  Register r = make(t);
  add(Op::AddPtr, e, {pointer, by}, {r}, {bytes});
  return r;
}
Register ProgramBuilder::offsetBy(Register pointer, int64_t bytes) {
  return offset(pointer, constant(Elem::I64, bytes), 1);
}
Register ProgramBuilder::load(Register pointer, Elem e, Register mask, Register other) {
  RegisterType t = program_->registers[pointer];
  t.elem = e;
  Register r = make(t);
  add(Op::Load, e, {pointer, mask, other}, {r}, {0});
  return r;
}
void ProgramBuilder::store(Register pointer, Register value, Register mask) {
  add(Op::Store, program_->registers[value].elem, {pointer, value, mask});
}
Register ProgramBuilder::range(int64_t n) {
  Register r = tile(Elem::I32, {n});
  add(Op::MakeRange, Elem::I32, {}, {r}, {0});
  return r;
}
Register ProgramBuilder::splat(Register scalar, std::vector<int64_t> shape) {
  Register r = tile(program_->registers[scalar].elem, std::move(shape));
  add(Op::Splat, program_->registers[scalar].elem, {scalar}, {r});
  return r;
}
Register ProgramBuilder::tid() {
  Register r = lanes(Elem::I32);
  add(Op::Tid, Elem::I32, {}, {r}, {0});
  return r;
}
Register ProgramBuilder::spread(Register scalar) {
  Register r = lanes(program_->registers[scalar].elem);
  add(Op::Splat, program_->registers[scalar].elem, {scalar}, {r});
  return r;
}
void ProgramBuilder::forLoop(Register begin, Register end, const std::function<void(Register)>& body) {
  Register i = make(RegisterType(program_->registers[begin]));
  Elem e = program_->registers[i].elem;
  Register one = constant(e, 1);
  add(Op::Copy, e, {begin}, {i});
  uint32_t test = add(Op::ForTest, e, {i, end}, {}, {0});
  body(i);
  add(Op::Binary, e, {i, one}, {i}, {}, uint8_t(BinaryOp::AddI));
  add(Op::Jump, e, {}, {}, {test});
  patch(test, pc());
}
void ProgramBuilder::patch(uint32_t pc, uint32_t target, uint32_t immediate) {
  program_->immediatePool[program_->code[pc].firstImmediate + immediate] = target;
}
int64_t ProgramBuilder::string(const std::string& text) {
  program_->strings.push_back(text);
  return int64_t(program_->strings.size() - 1);
}
int64_t ProgramBuilder::region(Region r) {
  program_->regions.push_back(std::move(r));
  return int64_t(program_->regions.size() - 1);
}
ProgramPtr ProgramBuilder::finish() {
  add(Op::Return, Elem::I32, {});
  program_->files.push_back(std::make_shared<SourceFile>(SourceFile{program_->name + ".py", source_, 1}));
  return program_;
}

World::Stop launchAll(World& world, ProgramPtr program, std::array<int32_t, 3> grid,
                      const std::vector<std::vector<uint64_t>>& argumentsByRank, int numWarps) {
  for (int r = 0; r < world.options().rankCount; ++r) {
    Launch l;
    l.program = program;
    l.grid = grid;
    l.numWarps = numWarps;
    for (uint64_t bits : argumentsByRank[size_t(r)]) l.arguments.push_back({bits});
    world.launch(r, 0, l);
  }
  return world.run([&] {
    for (int r = 0; r < world.options().rankCount; ++r)
      if (!world.idle(r)) return false;
    return true;
  });
}

std::string renderAll(const World& world) {
  std::string text;
  for (const Report& r : world.reports()) text += r.render();
  return text;
}

bool hasReport(const World& world, const std::string& kind) {
  return world.reports().size() == 1 && wordOf(world.reports()[0].kind) == kind;
}

}  // namespace tandem::interpreter::test
