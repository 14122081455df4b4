// Signals, waits and ordering of OpenSHMEM.
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static Value signalRow(Context& c, const Arguments& a) {
  mlir::Value signal = writableSignal(c, a["sig_addr"], "sig_addr").value;
  mlir::Value value = integer(c, a["signal"], Scalar::UInt64, "signal"),
              peer = integer(c, a["pe"], Scalar::Int32, "pe");
  dist::SignalOp::create(c.builder, c.loc(), signal, value, signalKind(c, a["sig_op"], "sig_op"), peer);
  return None{};
}

static Value signalWaitRow(Context& c, const Arguments& a) {
  dist::Compare compare = comparison(c, a["cmp_"], "cmp_");
  Tensor signal = signalPointer(c, a["sig_addr"], "sig_addr");
  mlir::Value wanted = integer(c, a["cmp_val"], Scalar::UInt64, "cmp_val");
  return scalarTensor(dist::SignalWaitOp::create(c.builder, c.loc(), signal.value, compare, wanted),
                      signal.type.dtype.pointee().scalar);
}

// Waits on words of any width. A wait on a word as wide as a signal returns the value seen.
static Builtin waitRow(const std::string& name, dist::Compare compare, Scalar word) {
  return {
      "shmem." + name,
      "addr, val",
      {"Waits until the word is " + std::string(compare == dist::Compare::Eq ? "" : "greater than ") + "`val`, signed.",
       Caller::Thread, "M6"},
      [compare, word](Context& c, const Arguments& a) -> Value {
        DType wide{word, {}};
        bool isSignal = wide.bitWidth() == 64;
        Tensor address = isSignal ? signalPointer(c, a["addr"], "addr") : pointer(c, a["addr"], "addr");
        DType element = address.type.dtype.pointee();
        if (!element.isInt() || element.bitWidth() != wide.bitWidth())
          c.fail("type",
                 "`addr` must point to " + std::to_string(wide.bitWidth()) + "-bit integers, not " + element.name());
        Tensor value{integer(c, a["val"], word, "val"), Type{wide, {}}};
        mlir::Value wanted = integer(c, value, Scalar::Int64, "val");
        auto wait = dist::SignalWaitOp::create(c.builder, c.loc(), address.value, compare, wanted);
        return isSignal ? Value(scalarTensor(wait, element.scalar)) : Value(None{});
      }};
}

// `fence` and `quiet`: of one peer, or of all.
template <class Order> static Builtin orderRow(const std::string& name, const std::string& signature) {
  return {"shmem." + name,
          signature,
          {std::string(std::is_same_v<Order, dist::FenceOp> ? "Orders the thread's earlier puts before its later ones"
                                                            : "Completes the thread's puts and gets") +
               (signature.starts_with("pe") ? " to the peer." : " to all peers."),
           Caller::Thread, "M9"},
          [](Context& c, const Arguments& a) -> Value {
            mlir::Value peer;
            if (a.values_.contains("pe") && !a["pe"].isNone()) peer = integer(c, a["pe"], Scalar::Int32, "pe");
            Order::create(c.builder, c.loc(), peer);
            return None{};
          }};
}

void addShmemSignalRows(Rows& rows) {
  rows.push_back({"shmem.signal_op",
                  "sig_addr, signal, sig_op, pe, qp_id=0",
                  {"Sets the peer's signal, or adds to it. It orders nothing before it.", Caller::Thread, "M11"},
                  signalRow});
  rows.push_back(
      {"shmem.signal_wait_until",
       "sig_addr, cmp_, cmp_val",
       {"Waits until the signal compares true with `cmp_val`, signed. Returns the value it saw.", Caller::Thread, "M6"},
       signalWaitRow});
  for (Scalar word : {Scalar::Int32, Scalar::UInt32, Scalar::Int64, Scalar::UInt64}) {
    std::string type = DType{word, {}}.name();
    rows.push_back(waitRow(type + "_wait_until_equals", dist::Compare::Eq, word));
    rows.push_back(waitRow(type + "_wait_until_greater_than", dist::Compare::Gt, word));
  }
  rows.push_back(orderRow<dist::FenceOp>("fence", ""));
  rows.push_back(orderRow<dist::FenceOp>("fence_pe", "pe"));
  rows.push_back(orderRow<dist::FenceOp>("fence_pe_qp", "pe, qp_id"));
  rows.push_back(orderRow<dist::QuietOp>("quiet", ""));
  rows.push_back(orderRow<dist::QuietOp>("quiet_pe", "pe=None"));
  rows.push_back(orderRow<dist::QuietOp>("quiet_pe_qp", "pe, qp_id"));
}

}  // namespace tandem::frontend::builtin
