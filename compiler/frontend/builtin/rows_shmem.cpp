// put, get and put-with-signal of OpenSHMEM, in every scope and under every vendor's spelling.
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

struct Suffix {
  const char* text;
  dist::Group group;
};
static constexpr Suffix kSuffixes[] = {{"", dist::Group::Thread},
                                       {"_warp", dist::Group::Warp},
                                       {"_block", dist::Group::Block},
                                       {"_wave", dist::Group::Warp},
                                       {"_wg", dist::Group::Block}};

struct Transfer {
  mlir::Value dest, source, bytes, peer;
};

static Transfer transfer(Context& c, const Arguments& a) {
  return {writable(c, a["dest"], "dest").value, pointer(c, a["source"], "source").value,
          integer(c, a["bytes"], Scalar::Int64, "bytes"), integer(c, a["pe"], Scalar::Int32, "pe")};
}

static Doc transferDoc(const std::string& text, dist::Group group, bool nbi, const char* rule) {
  return {text + (nbi ? " `quiet` completes it." : " When it returns, the source may be changed."), callerOf(group),
          rule};
}

static Builtin putRow(const std::string& name, dist::Group group, bool nbi) {
  return {"shmem." + name, "dest, source, bytes, pe, qp_id=0",
          transferDoc("Copies `bytes` bytes to `dest` of the peer.", group, nbi, nbi ? "M9" : "M8"),
          [group, nbi](Context& c, const Arguments& a) -> Value {
            Transfer t = transfer(c, a);
            dist::PutOp::create(c.builder, c.loc(), group, nbi, t.dest, t.source, t.bytes, t.peer);
            return None{};
          }};
}

static Builtin getRow(const std::string& name, dist::Group group, bool nbi) {
  return {"shmem." + name,
          "dest, source, bytes, pe",
          {std::string("Copies `bytes` bytes from `source` of the peer.") + (nbi ? " `quiet` completes it." : ""),
           callerOf(group), nbi ? "M9" : "M8"},
          [group, nbi](Context& c, const Arguments& a) -> Value {
            Transfer t = transfer(c, a);
            dist::GetOp::create(c.builder, c.loc(), group, nbi, t.dest, t.source, t.bytes, t.peer);
            return None{};
          }};
}

static Builtin putSignalRow(const std::string& name, dist::Group group, bool nbi) {
  return {"shmem." + name, "dest, source, bytes, sig_addr, signal, sig_op, pe, qp_id=0",
          transferDoc("Copies `bytes` bytes to `dest` of the peer, then sets its signal to `signal`, or adds to it.",
                      group, nbi, "M10"),
          [group, nbi](Context& c, const Arguments& a) -> Value {
            Transfer t = transfer(c, a);
            mlir::Value signal = writableSignal(c, a["sig_addr"], "sig_addr").value;
            mlir::Value value = integer(c, a["signal"], Scalar::UInt64, "signal");
            dist::PutSignalOp::create(c.builder, c.loc(), group, nbi, t.dest, t.source, t.bytes, signal, value,
                                      signalKind(c, a["sig_op"], "sig_op"), t.peer);
            return None{};
          }};
}

void addShmemPutRows(Rows& rows) {
  for (const Suffix& scope : kSuffixes)
    for (bool nbi : {false, true}) {
      std::string suffix = std::string(nbi ? "_nbi" : "") + scope.text;
      rows.push_back(putRow("putmem" + suffix, scope.group, nbi));
      rows.push_back(getRow("getmem" + suffix, scope.group, nbi));
      rows.push_back(putSignalRow("putmem_signal" + suffix, scope.group, nbi));
      // The RMA variants choose a transport, not another meaning.
      rows.push_back(putRow("putmem_rma" + suffix, scope.group, nbi));
      rows.push_back(putSignalRow("putmem_signal_rma" + suffix, scope.group, nbi));
    }
  rows.push_back(putSignalRow("putmem_nbi_signal", dist::Group::Thread, true));
}

}  // namespace tandem::frontend::builtin
