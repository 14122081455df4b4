// These benchmarks time the interpreter: a signalling ring over many ranks and programs, plain scalar loops, and the
// cost of a switch.
#include "interpreter/test/program_builder.h"
#include <benchmark/benchmark.h>

namespace tandem::interpreter::test {
namespace {

void requireDone(benchmark::State& state, World::Stop stop, const World& world) {
  if (stop != World::Stop::Done) state.SkipWithError(renderAll(world).c_str());
}

// Program p of each rank passes a token to program p of the next rank, `rounds` times around.
ProgramPtr ring() {
  ProgramBuilder b("ring");
  Register flags = b.pointerArgument("flags", Elem::I64), rounds = b.argument("rounds", Elem::I64);
  Register rank = b.uniform(Elem::I32), n = b.uniform(Elem::I32), id = b.uniform(Elem::I32),
           token = b.uniform(Elem::I32);
  b.add(Op::Rank, Elem::I32, {kNone}, {rank});
  b.add(Op::NumRanks, Elem::I32, {kNone}, {n});
  b.add(Op::ProgramId, Elem::I32, {}, {id}, {0});
  Register next = b.binary(BinaryOp::RemS, b.binary(BinaryOp::AddI, rank, b.constant(Elem::I32, 1)), n);
  Register flag = b.offset(flags, id, 8), one = b.constant(Elem::I32, 1);
  b.forLoop(b.constant(Elem::I64, 1), rounds, [&](Register i) {
    b.add(Op::Notify, Elem::I64, {flag, next, i}, {}, {0, 2});
    b.add(Op::Wait, Elem::I64, {flag, one, i}, {token}, {2, 1, 5});
  });
  return b.finish();
}

void signallingRing(benchmark::State& state) {
  constexpr int kRanks = 64, kPrograms = 32;
  ProgramPtr program = ring();
  uint64_t instructions = 0, switches = 0;
  for (auto _ : state) {
    World world({.rankCount = kRanks});
    std::vector<std::vector<uint64_t>> arguments;
    for (int r = 0; r < kRanks; ++r)
      arguments.push_back({world.allocate(r, kPrograms * 8, MemoryKind::Symmetric, true, "flags"), 200});
    requireDone(state, launchAll(world, program, {kPrograms, 1, 1}, arguments), world);
    instructions += world.counters().instructions;
    switches += world.counters().switches;
  }
  state.counters["instructions/s"] = benchmark::Counter(double(instructions), benchmark::Counter::kIsRate);
  state.counters["switches/s"] = benchmark::Counter(double(switches), benchmark::Counter::kIsRate);
}
BENCHMARK(signallingRing)->Unit(benchmark::kMillisecond);

void scalarLoop(benchmark::State& state) {
  ProgramBuilder b("loop");
  Register p = b.pointerArgument("out", Elem::I64), sum = b.uniform(Elem::I64), n = b.argument("n", Elem::I64);
  b.add(Op::Constant, Elem::I64, {}, {sum}, {0, 0});
  b.forLoop(b.constant(Elem::I64, 0), n,
            [&](Register i) { b.add(Op::Binary, Elem::I64, {sum, i}, {sum}, {}, uint8_t(BinaryOp::AddI)); });
  b.store(p, sum);
  ProgramPtr program = b.finish();
  uint64_t instructions = 0;
  for (auto _ : state) {
    World world({.rankCount = 1});
    requireDone(state,
                launchAll(world, program, {1, 1, 1}, {{world.allocate(0, 8, MemoryKind::Local, true, "out"), 1000000}}),
                world);
    instructions += world.counters().instructions;
  }
  state.counters["instructions/s"] = benchmark::Counter(double(instructions), benchmark::Counter::kIsRate);
}
BENCHMARK(scalarLoop)->Unit(benchmark::kMillisecond);

// Two programs hand one flag to and fro: each instruction pair costs a block, a wake and a switch.
void pingPong(benchmark::State& state) {
  ProgramPtr program = ring();
  uint64_t switches = 0;
  for (auto _ : state) {
    World world({.rankCount = 2});
    std::vector<std::vector<uint64_t>> arguments;
    for (int r = 0; r < 2; ++r)
      arguments.push_back({world.allocate(r, 8, MemoryKind::Symmetric, true, "flags"), 20000});
    requireDone(state, launchAll(world, program, {1, 1, 1}, arguments), world);
    switches += world.counters().switches;
  }
  state.counters["s/switch"] =
      benchmark::Counter(double(switches), benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK(pingPong)->Unit(benchmark::kMillisecond);

// 128 x 128 f32 tiles loaded, added, stored.
void tileCopy(benchmark::State& state) {
  constexpr int64_t kSide = 128, kCount = kSide * kSide;
  ProgramBuilder b("tiles");
  Register from = b.pointerArgument("from", Elem::F32), to = b.pointerArgument("to", Elem::F32);
  Register i = b.range(kCount), at = b.offset(b.splat(from, {kCount}), i, 4),
           out = b.offset(b.splat(to, {kCount}), i, 4);
  b.forLoop(b.constant(Elem::I32, 0), b.constant(Elem::I32, 100), [&](Register) {
    Register v = b.load(at, Elem::F32);
    b.store(out, b.binary(BinaryOp::AddF, v, v));
  });
  ProgramPtr program = b.finish();
  for (auto _ : state) {
    World world({.rankCount = 1});
    Address x = world.allocate(0, kCount * 4, MemoryKind::Local, true, "from"),
            y = world.allocate(0, kCount * 4, MemoryKind::Local, false, "to");
    requireDone(state, launchAll(world, program, {1, 1, 1}, {{x, y}}), world);
  }
  state.SetBytesProcessed(int64_t(state.iterations()) * 100 * kCount * 8);
}
BENCHMARK(tileCopy)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tandem::interpreter::test
