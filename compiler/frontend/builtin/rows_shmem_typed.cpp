// Typed put and single-value put of OpenSHMEM.
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static Tensor typedPointer(Context& c, const Tensor& p, Scalar element, const std::string& what) {
  DType have = p.type.dtype.pointee(), want{element};
  if (have.bitWidth() != want.bitWidth() || have.isFloat() != want.isFloat() || have.isPointer())
    c.fail("type", "`" + what + "` must point to " + want.name() + ", not " + have.name());
  return p;
}

static Builtin putValueRow(const std::string& name, Scalar element) {
  return {"shmem." + name,
          "dest, value, pe, qp_id=0",
          {"Writes one " + DType{element}.name() + " to `dest` of the peer.", Caller::Thread, "M8"},
          [element](Context& c, const Arguments& a) -> Value {
            Tensor dest = typedPointer(c, writable(c, a["dest"], "dest"), element, "dest");
            Tensor value = scalarOf(c, a["value"], dest.type.dtype.pointee(), "value");
            dist::PutValueOp::create(c.builder, c.loc(), dest.value, value.value,
                                     integer(c, a["pe"], Scalar::Int32, "pe"));
            return None{};
          }};
}

static mlir::Value byteCount(Context& c, const Value& count, int64_t elementSize) {
  Tensor elements{integer(c, count, Scalar::Int64, "nelems"), Type{DType{Scalar::Int64}, {}}};
  return toTensor(c, binary(c, ast::BinaryOp::Mul, elements, Int(elementSize))).value;
}

static Builtin putArrayRow(const std::string& name, Scalar element) {
  return {"shmem." + name,
          "dest, source, nelems, pe, qp_id=0",
          {"Copies `nelems` elements of " + DType{element}.name() + " to `dest` of the peer. `quiet` completes it.",
           Caller::Thread, "M9"},
          [element](Context& c, const Arguments& a) -> Value {
            Tensor dest = typedPointer(c, writable(c, a["dest"], "dest"), element, "dest"),
                   source = typedPointer(c, pointer(c, a["source"], "source"), element, "source");
            mlir::Value bytes = byteCount(c, a["nelems"], DType{element, {}}.bitWidth() / 8),
                        peer = integer(c, a["pe"], Scalar::Int32, "pe");
            dist::PutOp::create(c.builder, c.loc(), dist::Group::Thread, true, dest.value, source.value, bytes, peer);
            return None{};
          }};
}

static Value putSignal(Context& c, const Arguments& a) {
  Tensor dest = typedPointer(c, writable(c, a["dest"], "dest"), Scalar::UInt64, "dest"),
         source = typedPointer(c, pointer(c, a["source"], "source"), Scalar::UInt64, "source");
  mlir::Value bytes = byteCount(c, a["nelems"], 8), value = integer(c, a["signal"], Scalar::UInt64, "signal");
  dist::PutSignalOp::create(c.builder, c.loc(), dist::Group::Thread, false, dest.value, source.value, bytes,
                            writableSignal(c, a["sig_addr"], "sig_addr").value, value,
                            signalKind(c, a["sig_op"], "sig_op"), integer(c, a["pe"], Scalar::Int32, "pe"));
  return None{};
}

void addShmemTypedRows(Rows& rows) {
  static const std::pair<const char*, Scalar> values[] = {
      {"int_p", Scalar::Int32},     {"uint_p", Scalar::UInt32},    {"long_p", Scalar::Int64},
      {"ulong_p", Scalar::UInt64},  {"longlong_p", Scalar::Int64}, {"ulonglong_p", Scalar::UInt64},
      {"short_p", Scalar::Int16},   {"ushort_p", Scalar::UInt16},  {"char_p", Scalar::Int8},
      {"uchar_p", Scalar::UInt8},   {"float_p", Scalar::Fp32},     {"double_p", Scalar::Fp64},
      {"int8_p", Scalar::Int8},     {"int16_p", Scalar::Int16},    {"int32_p", Scalar::Int32},
      {"int64_p", Scalar::Int64},   {"uint8_p", Scalar::UInt8},    {"uint16_p", Scalar::UInt16},
      {"uint32_p", Scalar::UInt32}, {"uint64_p", Scalar::UInt64}};
  for (const auto& [name, element] : values) rows.push_back(putValueRow(name, element));
  rows.push_back(putArrayRow("put_uint32_nbi", Scalar::UInt32));
  rows.push_back(putArrayRow("put_uint64_nbi", Scalar::UInt64));
  rows.push_back(putArrayRow("put_float_nbi", Scalar::Fp32));
  rows.push_back(putArrayRow("put_double_nbi", Scalar::Fp64));
  rows.push_back({"shmem.ulong_put_signal",
                  "dest, source, nelems, sig_addr, signal, sig_op, pe",
                  {"Writes `nelems` 8-byte elements to the peer, then its signal.", Caller::Thread, "M10"},
                  putSignal});
}

}  // namespace tandem::frontend::builtin
