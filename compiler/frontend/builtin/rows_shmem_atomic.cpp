// Remote atomics, under MORI's names: an atomic update of the peer's address.
#include "compiler/frontend/builtin/vectors.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

// Numbers of NVSHMEMI_AMO_*.
enum class Amo : uint8_t {
  Inc = 2,
  Set = 3,
  Add = 4,
  And = 5,
  Or = 6,
  Xor = 7,
  Signal = 8,
  SignalSet = 9,
  SignalAdd = 10,
  Fetch = 12,
  FetchInc = 13,
  FetchAdd = 14,
  FetchAnd = 15,
  FetchOr = 16,
  FetchXor = 17,
  Swap = 18,
  CompareSwap = 19
};

static Tensor peerAddress(Context& c, const Arguments& a) {
  Tensor dest = writableSignal(c, a["dest"], "dest");
  mlir::Value peer = integer(c, a["pe"], Scalar::Int32, "pe");
  return {dist::SymmAtOp::create(c.builder, c.loc(), dest.value, peer), dest.type};
}

static Value update(Context& c, const Arguments& a, tile::Rmw rmw, const Value& value) {
  Tensor dest = peerAddress(c, a);
  Scalar element = dest.type.dtype.pointee().scalar;
  mlir::Value operand = integer(c, value, element, "val");
  return scalarTensor(simt::AtomicRmwOp::create(c.builder, c.loc(), operand.getType(), rmw, dest.value, operand,
                                                tile::Semantic::Relaxed, tile::Scope::Sys),
                      element);
}

static Value compareAndSwap(Context& c, const Arguments& a) {
  Tensor dest = peerAddress(c, a);
  Scalar element = dest.type.dtype.pointee().scalar;
  mlir::Value expected = integer(c, a["compare"], element, "compare"), value = integer(c, a["val"], element, "val");
  return scalarTensor(simt::AtomicCasOp::create(c.builder, c.loc(), dest.value, expected, value,
                                                tile::Semantic::Relaxed, tile::Scope::Sys),
                      element);
}

static Value generic(Context& c, const Arguments& a) {
  Int number = constexprInt(c, a["amo_type"], "amo_type");
  switch (number >= 0 && number < 32 ? static_cast<Amo>(static_cast<uint8_t>(number)) : Amo{}) {
    case Amo::Set:
    case Amo::Signal:
    case Amo::SignalSet:
    case Amo::Swap: return update(c, a, tile::Rmw::Xchg, a["val"]);
    case Amo::Add:
    case Amo::SignalAdd:
    case Amo::FetchAdd: return update(c, a, tile::Rmw::Add, a["val"]);
    case Amo::Inc:
    case Amo::FetchInc: return update(c, a, tile::Rmw::Add, Int(1));
    case Amo::And:
    case Amo::FetchAnd: return update(c, a, tile::Rmw::And, a["val"]);
    case Amo::Or:
    case Amo::FetchOr: return update(c, a, tile::Rmw::Or, a["val"]);
    case Amo::Xor:
    case Amo::FetchXor: return update(c, a, tile::Rmw::Xor, a["val"]);
    case Amo::Fetch: return threadLoad(c, peerAddress(c, a), 0, {tile::Semantic::Relaxed, tile::Scope::Sys, false});
    case Amo::CompareSwap:
      if (a.values_.contains("compare")) return compareAndSwap(c, a);
  }
  c.fail("argument-value", "`amo_type` is " + repr(a["amo_type"]) + ", which is no update this function makes");
}

static Value withoutResult(Value) { return None{}; }

void addShmemAtomicRows(Rows& rows) {
  for (const char* type : {"uint64", "int64"}) {
    std::string suffix = type;
    rows.push_back(
        {"shmem.atomic_add_" + suffix,
         "dest, val, pe, qp_id=0",
         {"Adds `val` at `dest` of the peer in one step.", Caller::Thread, "M14"},
         [](Context& c, const Arguments& a) { return withoutResult(update(c, a, tile::Rmw::Add, a["val"])); }});
    rows.push_back(
        {"shmem.atomic_fetch_add_" + suffix,
         "dest, val, pe, qp_id=0",
         {"Adds `val` at `dest` of the peer in one step. Returns the value from before.", Caller::Thread, "M14"},
         [](Context& c, const Arguments& a) { return update(c, a, tile::Rmw::Add, a["val"]); }});
    rows.push_back(
        {"shmem.atomic_" + suffix + "_nonfetch",
         "dest, val, amo_type, pe, qp_id=0",
         {"Updates `dest` of the peer in one step, as NVSHMEM's number `amo_type` says.", Caller::Thread, "M14"},
         [](Context& c, const Arguments& a) { return withoutResult(generic(c, a)); }});
    rows.push_back(
        {"shmem.atomic_" + suffix + "_fetch",
         "dest, val, compare, amo_type, pe, qp_id=0",
         {"Updates `dest` of the peer in one step, as NVSHMEM's number `amo_type` says. Returns the value from before.",
          Caller::Thread, "M14"},
         generic});
  }
}

}  // namespace tandem::frontend::builtin
