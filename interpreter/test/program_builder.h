// Programs by hand, for tests and benchmarks: registers, instructions, labels. One source line an instruction unless
// told.
#pragma once
#include "interpreter/program.h"
#include "interpreter/world.h"
#include <functional>
#include <string>

namespace tandem::interpreter::test {

class ProgramBuilder {
 public:
  explicit ProgramBuilder(const std::string& name = "kernel");

  Register uniform(Elem e, int vectorLength = 1);
  Register lanes(Elem e, int vectorLength = 1);  // makes the program per-thread
  Register tile(Elem e, std::vector<int64_t> shape);
  Register smem(Elem e, std::vector<int64_t> shape);
  Register pointerArgument(const std::string& name, Elem pointee);
  Register argument(const std::string& name, Elem e);

  // Adds an instruction; gives its pc.
  uint32_t add(Op op, Elem elem, std::vector<uint32_t> operands, std::vector<Register> results = {},
               std::vector<int64_t> immediates = {}, uint8_t sub = 0);
  Register constant(Elem e, int64_t bits);
  Register constantTile(Elem e, std::vector<int64_t> shape, int64_t bits);
  Register binary(BinaryOp op, Register a, Register b);
  Register compare(CompareOp op, Register a, Register b);
  Register offset(Register pointer, Register offset, int64_t bytes);  // AddPtr, of the wider of both extents
  Register offsetBy(Register pointer, int64_t bytes);
  Register load(Register pointer, Elem e, Register mask = kNone, Register other = kNone);
  void store(Register pointer, Register value, Register mask = kNone);
  Register range(int64_t n);
  Register splat(Register scalar, std::vector<int64_t> shape);
  Register tid();
  Register spread(Register scalar);  // Uniform to Lanes
  // Calls `body(i)` in a loop of i from begin to end.
  void forLoop(Register begin, Register end, const std::function<void(Register)>& body);

  uint32_t pc() const { return uint32_t(program_->code.size()); }
  void patch(uint32_t pc, uint32_t target, uint32_t immediate = 0);
  int64_t string(const std::string& text);
  int64_t region(Region r);
  Program& program() { return *program_; }
  ProgramPtr finish();  // adds Return

 private:
  Register make(RegisterType t);
  std::shared_ptr<Program> program_;
  std::string source_;
};

// One kernel on every rank, run to its end.
World::Stop launchAll(World& world, ProgramPtr program, std::array<int32_t, 3> grid,
                      const std::vector<std::vector<uint64_t>>& argumentsByRank, int numWarps = 1);
template <class T> T* at(Address a) { return reinterpret_cast<T*>(a); }
std::string renderAll(const World& world);
// The only report is of this kind.
bool hasReport(const World& world, const std::string& kind);

}  // namespace tandem::interpreter::test
