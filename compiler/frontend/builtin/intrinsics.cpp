// The table of intrinsics. Thread and program indices have one spelling a vendor.
#include "compiler/frontend/builtin/intrinsics.h"
#include "compiler/frontend/builtin/operands.h"
#include <cctype>
#include <unordered_map>

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {
namespace {

using Operands = std::vector<Value>;
using Table = std::unordered_map<std::string, Intrinsic>;

Tensor int32Of(mlir::Value value) { return scalarTensor(value, Scalar::Int32); }

void addIndices(Table& table) {
  for (int axis = 0; axis < 3; ++axis) {
    std::string letter(1, "xyz"[axis]);
    Intrinsic thread{0, [axis](Context& c, const Operands&) -> Value {
                       return int32Of(simt::TidOp::create(c.builder, c.loc(), c.builder.getI32Type(), axis));
                     }};
    Intrinsic threads{0, [axis](Context& c, const Operands&) -> Value {
                        return int32Of(simt::NtidOp::create(c.builder, c.loc(), c.builder.getI32Type(), axis));
                      }};
    Intrinsic program{0, [axis](Context& c, const Operands&) -> Value {
                        return int32Of(tile::ProgramIdOp::create(c.builder, c.loc(), c.builder.getI32Type(), axis));
                      }};
    Intrinsic programs{0, [axis](Context& c, const Operands&) -> Value {
                         return int32Of(tile::NumProgramsOp::create(c.builder, c.loc(), c.builder.getI32Type(), axis));
                       }};
    for (const char* name : {"llvm.nvvm.read.ptx.sreg.tid.", "llvm.amdgcn.workitem.id.", "llvm.mxc.thread.id."})
      table[name + letter] = thread;
    for (const char* name : {"llvm.nvvm.read.ptx.sreg.ctaid.", "llvm.amdgcn.workgroup.id.", "llvm.mxc.block.id."})
      table[name + letter] = program;
    table["llvm.nvvm.read.ptx.sreg.ntid." + letter] = threads;
    table["llvm.nvvm.read.ptx.sreg.nctaid." + letter] = programs;
  }
  table["llvm.nvvm.read.ptx.sreg.laneid"] = {0, [](Context& c, const Operands&) -> Value {
                                               auto tid =
                                                   simt::TidOp::create(c.builder, c.loc(), c.builder.getI32Type(), 0);
                                               return binary(c, ast::BinaryOp::Mod, int32Of(tid), Int(32));
                                             }};
  table["llvm.nvvm.read.ptx.sreg.warpsize"] = {
      0, [](Context& c, const Operands&) -> Value { return constant(c, Int(32), DType{Scalar::Int32}); }};
}

void addRegisters(Table& table) {
  auto add = [&](const char* name, simt::Special which, Scalar scalar) {
    table[name] = {0, [which, scalar](Context& c, const Operands&) -> Value {
                     mlir::Type type = DType{scalar}.toMLIR(c.builder.getContext());
                     return scalarTensor(simt::SpecialOp::create(c.builder, c.loc(), type, which), scalar);
                   }};
  };
  add("llvm.nvvm.read.ptx.sreg.smid", simt::Special::SmId, Scalar::Int32);
  add("llvm.nvvm.read.ptx.sreg.clock", simt::Special::Clock, Scalar::Int32);
  add("llvm.nvvm.read.ptx.sreg.clock64", simt::Special::Clock, Scalar::Int64);
  add("llvm.nvvm.read.ptx.sreg.globaltimer", simt::Special::GlobalTimer, Scalar::Int64);
  add("llvm.readcyclecounter", simt::Special::Clock, Scalar::Int64);
}

template <class Op, class... A> Intrinsic effect(A... attributes) {
  return {0, [=](Context& c, const Operands&) -> Value {
            Op::create(c.builder, c.loc(), attributes...);
            return None{};
          }};
}

void addEffects(Table& table) {
  table["llvm.nvvm.barrier0"] = table["llvm.amdgcn.s.barrier"] = effect<simt::BarrierOp>();
  table["llvm.nvvm.membar.cta"] = effect<simt::FenceOp>(tile::Semantic::SeqCst, tile::Scope::Cta);
  table["llvm.nvvm.membar.gl"] = effect<simt::FenceOp>(tile::Semantic::SeqCst, tile::Scope::Gpu);
  table["llvm.nvvm.membar.sys"] = effect<simt::FenceOp>(tile::Semantic::SeqCst, tile::Scope::Sys);
  table["llvm.nvvm.cp.async.bulk.commit.group"] = effect<simt::BulkCommitOp>();
}

void addMath(Table& table) {
  for (const char* name : {"sqrt", "exp", "exp2", "log", "log2", "sin", "cos", "floor", "ceil"})
    table[std::string("llvm.") + name] = {
        1, [name](Context& c, const Operands& a) -> Value { return mathUnary(c, name, a[0]); }};
  auto absolute = [](Context& c, const Operands& a) -> Value { return semantic::abs(c, a[0]); };
  table["llvm.fabs"] = table["llvm.nvvm.fabs"] = {1, absolute};
  table["llvm.fma"] =
      table["llvm.fmuladd"] = {3, [](Context& c, const Operands& a) -> Value { return fma(c, a[0], a[1], a[2]); }};
  for (bool propagates : {false, true}) {
    table[propagates ? "llvm.minimum" : "llvm.minnum"] = {
        2, [=](Context& c, const Operands& a) -> Value { return minimum(c, a[0], a[1], propagates); }};
    table[propagates ? "llvm.maximum" : "llvm.maxnum"] = {
        2, [=](Context& c, const Operands& a) -> Value { return maximum(c, a[0], a[1], propagates); }};
  }
}

// A minimum or maximum of integers taken as signed or unsigned, whatever the operands' types say.
Value ofSign(Context& c, const Operands& a, bool isSigned, bool isMinimum) {
  auto as = [&](const Value& value) {
    Tensor t = toTensor(c, value);
    if (!t.type.dtype.isInt()) c.fail("type", "this intrinsic takes integers, not " + describe(value));
    int bits = t.type.dtype.bitWidth();
    Scalar narrow = bits == 8 ? (isSigned ? Scalar::Int8 : Scalar::UInt8) : (isSigned ? Scalar::Int16 : Scalar::UInt16);
    Scalar wide =
        bits == 32 ? (isSigned ? Scalar::Int32 : Scalar::UInt32) : (isSigned ? Scalar::Int64 : Scalar::UInt64);
    return cast(c, t, DType{bits < 32 ? narrow : wide});
  };
  return isMinimum ? minimum(c, as(a[0]), as(a[1]), false) : maximum(c, as(a[0]), as(a[1]), false);
}

void addIntegers(Table& table) {
  for (bool isSigned : {false, true})
    for (bool isMinimum : {false, true})
      table[std::string("llvm.") + (isSigned ? "s" : "u") + (isMinimum ? "min" : "max")] = {
          2, [=](Context& c, const Operands& a) { return ofSign(c, a, isSigned, isMinimum); }};
}

const Table& table() {
  static const Table all = [] {
    Table t;
    addIndices(t);
    addRegisters(t);
    addEffects(t);
    addMath(t);
    addIntegers(t);
    return t;
  }();
  return all;
}

// "f32", "bf16", "i64", "v4f32", "f"
bool isTypeSuffix(const std::string& word) {
  size_t k = 0;
  if (word[k] == 'v' && word.size() > 1 && std::isdigit(static_cast<unsigned char>(word[1])))
    for (++k; k < word.size() && std::isdigit(static_cast<unsigned char>(word[k]));) ++k;
  if (k < word.size() && word[k] == 'b') ++k;
  if (k == word.size() || (word[k] != 'f' && word[k] != 'i')) return false;
  for (++k; k < word.size(); ++k)
    if (!std::isdigit(static_cast<unsigned char>(word[k]))) return false;
  return true;
}

}  // namespace

const Intrinsic* findIntrinsic(const std::string& name) {
  auto found = table().find(name);
  size_t dot = name.rfind('.');
  if (found == table().end() && dot != std::string::npos && dot + 1 < name.size() && isTypeSuffix(name.substr(dot + 1)))
    found = table().find(name.substr(0, dot));
  return found == table().end() ? nullptr : &found->second;
}

}  // namespace tandem::frontend::builtin
