// Signals, waits and ordering of OpenSHMEM.
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static Value signalRow(Context& c, const Arguments& a) {
  mlir::Value signal = signalPointer(c, a["sig_addr"], "sig_addr").value;
  mlir::Value value = integer(c, a["signal"], Scalar::UInt64, "signal"),
              peer = integer(c, a["pe"], Scalar::Int32, "pe");
  dist::SignalOp::create(c.builder, c.loc(), signal, value, signalKind(c, a["sig_op"], "sig_op"), peer);
  return None{};
}

static Tensor waitUntil(Context& c, const Value& address, const std::string& what, dist::Compare compare,
                        const Value& value) {
  Tensor signal = signalPointer(c, address, what);
  mlir::Value wanted = integer(c, value, Scalar::UInt64, "cmp_val");
  return scalarTensor(dist::SignalWaitOp::create(c.builder, c.loc(), signal.value, compare, wanted),
                      signal.type.dtype.pointee().scalar);
}

static Value signalWaitRow(Context& c, const Arguments& a) {
  return waitUntil(c, a["sig_addr"], "sig_addr", comparison(c, a["cmp_"], "cmp_"), a["cmp_val"]);
}

// Waits on words of any width. That of a signal's width gives the value seen.
static Builtin waitRow(const std::string& name, dist::Compare compare, int bits) {
  return {"shmem." + name, "addr, val", [compare, bits](Context& c, const Arguments& a) -> Value {
            if (bits == 64) return waitUntil(c, a["addr"], "addr", compare, a["val"]);
            Tensor address = pointer(c, a["addr"], "addr");
            DType element = address.type.dtype.pointee();
            if (!element.isInt() || element.bitWidth() != bits)
              c.fail("type", "`addr` must point to " + std::to_string(bits) + "-bit integers, not " + element.name());
            mlir::Value wanted = integer(c, a["val"], Scalar::UInt64, "val");
            dist::SignalWaitOp::create(c.builder, c.loc(), address.value, compare, wanted);
            return None{};
          }};
}

static Builtin fenceRow(const std::string& name, const std::string& signature) {
  return {"shmem." + name, signature, [](Context& c, const Arguments&) -> Value {
            dist::FenceOp::create(c.builder, c.loc());
            return None{};
          }};
}

static Builtin quietRow(const std::string& name, const std::string& signature) {
  return {"shmem." + name, signature, [](Context& c, const Arguments& a) -> Value {
            mlir::Value peer;
            if (a.values_.contains("pe") && !a["pe"].isNone()) peer = integer(c, a["pe"], Scalar::Int32, "pe");
            dist::QuietOp::create(c.builder, c.loc(), peer);
            return None{};
          }};
}

void addShmemSignalRows(Rows& rows) {
  rows.push_back({"shmem.signal_op", "sig_addr, signal, sig_op, pe, qp_id=0", signalRow});
  rows.push_back({"shmem.signal_wait_until", "sig_addr, cmp_, cmp_val", signalWaitRow});
  for (int bits : {32, 64})
    for (const char* sign : {"int", "uint"}) {
      std::string type = sign + std::to_string(bits);
      rows.push_back(waitRow(type + "_wait_until_equals", dist::Compare::Eq, bits));
      rows.push_back(waitRow(type + "_wait_until_greater_than", dist::Compare::Gt, bits));
    }
  rows.push_back(fenceRow("fence", ""));
  rows.push_back(fenceRow("fence_pe", "pe"));
  rows.push_back(fenceRow("fence_pe_qp", "pe, qp_id"));
  rows.push_back(quietRow("quiet", ""));
  rows.push_back(quietRow("quiet_pe", "pe=None"));
  rows.push_back(quietRow("quiet_pe_qp", "pe, qp_id"));
}

}  // namespace tandem::frontend::builtin
