// Loads, stores and atomics of single threads: `language_extra`.
#include "compiler/frontend/builtin/vectors.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static Value loadRow(Context& c, const Arguments& a) {
  return threadLoad(c, pointer(c, a["ptr"], "ptr"), 0, access(c, a["scope"], a["semantic"], tile::Semantic::Acquire));
}

static DType wordType(int bits) {
  switch (bits) {
    case 8: return DType{Scalar::UInt8};
    case 16: return DType{Scalar::UInt16};
    case 32: return DType{Scalar::UInt32};
    default: return DType{Scalar::UInt64};
  }
}

// Returns true if `st` moves the bits as they are: an integer to a float's place or the other way round, of one width.
static bool storesBits(const Value& value, DType to) {
  if (!value.is<Tensor>()) return false;
  DType from = value.as<Tensor>().type.dtype;
  if (from.isPointer() || to.isPointer() || from.isBool() || to.isBool() || to == DType{Scalar::Void}) return false;
  return from != to && (from.isFloat() || to.isFloat()) && from.bitWidth() == to.bitWidth();
}

static Value storeRow(Context& c, const Arguments& a) {
  Tensor destination = writable(c, a["ptr"], "ptr");
  DType element = destination.type.dtype.pointee();
  Tensor value;
  if (storesBits(a["val"], element)) {
    DType bits = wordType(element.bitWidth());
    destination = pointerTo(c, destination, bits);
    value = {asInteger(c, scalar(c, a["val"], "val")).value, Type{bits, {}}};
  } else {
    value = scalarOf(c, a["val"], element, "val");
  }
  threadStore(c, destination, value, access(c, a["scope"], a["semantic"], tile::Semantic::Release));
  return None{};
}

static Value loadAcquireRow(Context& c, const Arguments& a) {
  return threadLoad(c, pointer(c, a["ptr"], "ptr"), 0, {tile::Semantic::Acquire, scope(c, a["scope"], "scope"), false});
}

constexpr char kWeak[] = "ptr, scope='', semantic=''";
// These are PTX's volatile accesses: kernels poll with them.
constexpr char kVolatile[] = "ptr, scope='sys', semantic='relaxed'";

static Builtin loadBitsRow(const std::string& name, Scalar element, uint32_t length, const char* signature = kWeak) {
  return {"extra." + name,
          signature,
          {"The value at `ptr`" + std::string(length ? ", in " + std::to_string(length) + " parts" : "") +
               ", in one access; without a scope it is a plain one.",
           Caller::Thread, "M1"},
          [=](Context& c, const Arguments& a) -> Value {
            Tensor source = pointerTo(c, pointer(c, a["ptr"], "ptr"), DType{element, {}});
            Tensor loaded =
                threadLoad(c, source, length, access(c, a["scope"], a["semantic"], tile::Semantic::Acquire));
            if (length == 0) return loaded;
            std::vector<Value> parts;
            for (const Tensor& part : elements(c, loaded)) parts.push_back(part);
            return makeTuple(std::move(parts));
          }};
}

// A value of `bits` bits as an unsigned integer; Python numbers take that width.
static Tensor word(Context& c, const Value& value, int bits, const std::string& what) {
  DType dtype{bits == 64 ? Scalar::UInt64 : Scalar::UInt32};
  if (value.isNumber() && !value.is<double>()) return scalarOf(c, value, dtype, what);
  Tensor s = scalar(c, value, what);
  if (s.type.dtype.isBool() || s.type.dtype.bitWidth() != bits)
    c.fail("type", "`" + what + "` must have " + std::to_string(bits) + " bits, not " + describe(value));
  Tensor result = asInteger(c, s);
  return {result.value, Type{dtype, {}}};
}

static Builtin storeBitsRow(const std::string& name, int bits, uint32_t length) {
  std::string signature = "ptr, val0";
  for (uint32_t i = 1; i < length; ++i) signature += ", val" + std::to_string(i);
  return {"extra." + name,
          signature + ", scope='', semantic=''",
          {"Writes the values of " + std::to_string(bits) + " bits in one access; without a scope it is a plain one.",
           Caller::Thread, "M1"},
          [=](Context& c, const Arguments& a) -> Value {
            Tensor destination =
                pointerTo(c, writable(c, a["ptr"], "ptr"), DType{bits == 64 ? Scalar::UInt64 : Scalar::UInt32});
            std::vector<Tensor> words;
            for (uint32_t i = 0; i < std::max(1u, length); ++i) {
              std::string what = "val" + std::to_string(i);
              words.push_back(word(c, a[what], bits, what));
            }
            Tensor value = length == 0 ? words[0] : makeVector(c, words);
            threadStore(c, destination, value, access(c, a["scope"], a["semantic"], tile::Semantic::Release));
            return None{};
          }};
}

static Tensor atomicPointer(Context& c, const Value& value, const std::string& what) {
  Tensor p = writable(c, value, what);
  DType element = p.type.dtype.pointee();
  bool wide = element.bitWidth() == 32 || element.bitWidth() == 64;
  if (element.isPointer() || element.isBool() || element == DType{Scalar::Void} || (!wide && !element.isFloat()) ||
      element.isFp8())
    c.fail("type", "`" + what + "` points to " + element.name() + ", which cannot be updated atomically");
  return p;
}

static Tensor atomicAdd(Context& c, const Tensor& p, const Value& value, tile::Semantic sem, tile::Scope scope) {
  DType element = p.type.dtype.pointee();
  Tensor operand = scalarOf(c, value, element, "value");
  tile::Rmw rmw = element.isFloat() ? tile::Rmw::FAdd : tile::Rmw::Add;
  return scalarTensor(
      simt::AtomicRmwOp::create(c.builder, c.loc(), operand.value.getType(), rmw, p.value, operand.value, sem, scope),
      element.scalar);
}

static Value atomicAddRow(Context& c, const Arguments& a) {
  return atomicAdd(c, atomicPointer(c, a["ptr"], "ptr"), a["value"], order(c, a["semantic"], "semantic"),
                   scope(c, a["scope"], "scope"));
}

static Value redReleaseRow(Context& c, const Arguments& a) {
  atomicAdd(c, atomicPointer(c, a["barrier_ptr"], "barrier_ptr"), a["value"], tile::Semantic::Release,
            scope(c, a["scope"], "scope"));
  return None{};
}

static Value atomicCasRow(Context& c, const Arguments& a) {
  Tensor p = atomicPointer(c, a["ptr"], "ptr");
  DType element = p.type.dtype.pointee();
  Tensor expected = scalarOf(c, a["value"], element, "value"),
         value = scalarOf(c, a["target_value"], element, "target_value");
  return scalarTensor(simt::AtomicCasOp::create(c.builder, c.loc(), p.value, expected.value, value.value,
                                                order(c, a["semantic"], "semantic"), scope(c, a["scope"], "scope")),
                      element.scalar);
}

static Value packRow(Context& c, const Arguments& a) {
  Tensor vector = vectorArgument(c, a["src"], "src");
  DType dtype = constexprDType(c, a["dst_type"], "dst_type");
  int64_t bits = int64_t(vector.type.vectorLength) * vector.type.dtype.bitWidth();
  if (bits != dtype.bitWidth()) c.fail("type", "cannot pack " + vector.type.name() + " into " + dtype.name());
  return recast(c, vector, dtype, 0);
}

static Value unpackRow(Context& c, const Arguments& a) {
  Tensor source = scalar(c, a["src"], "src");
  DType dtype = constexprDType(c, a["dst_type"], "dst_type");
  if (dtype == DType{Scalar::Void} || dtype.bitWidth() >= source.type.dtype.bitWidth())
    c.fail("type", "cannot unpack " + source.type.name() + " into elements of " + dtype.name());
  return recast(c, source, dtype, static_cast<uint32_t>(source.type.dtype.bitWidth() / dtype.bitWidth()));
}

static Value packPairRow(Context& c, const Arguments& a) {
  Tensor pair = makeVector(c, {word(c, a["val0"], 32, "val0"), word(c, a["val1"], 32, "val1")});
  return recast(c, pair, DType{Scalar::UInt64}, 0);
}

void addExtraMemoryRows(Rows& rows) {
  for (const char* name : {"extra.ld", "extra.load"})
    rows.push_back({name,
                    "ptr, scope='gpu', semantic='relaxed'",
                    {"The value at `ptr`, by a strong access of the thread.", Caller::Thread, "M1"},
                    loadRow});
  for (const char* name : {"extra.st", "extra.store"})
    rows.push_back({name,
                    "ptr, val, scope='gpu', semantic='relaxed'",
                    {"Writes `val` at `ptr` by a strong access of the thread.", Caller::Thread, "M1"},
                    storeRow});
  rows.push_back({"extra.ld_acquire",
                  "ptr, scope='gpu'",
                  {"The value at `ptr`; later accesses of the thread come after it.", Caller::Thread, "M4"},
                  loadAcquireRow});
  rows.push_back(loadBitsRow("ld_b32", Scalar::Int32, 0));
  rows.push_back(loadBitsRow("load_v4_u32", Scalar::UInt32, 4, kVolatile));
  rows.push_back(loadBitsRow("load_v4_b32", Scalar::Int32, 4));
  rows.push_back(loadBitsRow("load_v4_s32", Scalar::Int32, 4));
  rows.push_back(loadBitsRow("load_v2_b64", Scalar::Int64, 2, kVolatile));
  rows.push_back(storeBitsRow("st_b32", 32, 0));
  rows.push_back(storeBitsRow("st_v4_u32", 32, 4));
  rows.push_back(storeBitsRow("st_v4_b32", 32, 4));
  rows.push_back(storeBitsRow("st_v2_u32", 32, 2));
  rows.push_back({"extra.atomic_add",
                  "ptr, value, scope='gpu', semantic='relaxed'",
                  {"Adds `value` in one step. Returns the value from before.", Caller::Thread, "M14"},
                  atomicAddRow});
  rows.push_back({"extra.atomic_cas",
                  "ptr, value, target_value, scope='gpu', semantic='relaxed'",
                  {"Writes `target_value` where the value is `value`, in one step. Returns the value from before.",
                   Caller::Thread, "M14"},
                  atomicCasRow});
  rows.push_back({"extra.red_release",
                  "barrier_ptr, value, scope='gpu'",
                  {"Adds `value` in one step, after all earlier accesses of the thread.", Caller::Thread, "M14"},
                  redReleaseRow});
  rows.push_back(
      {"extra.pack", "src, dst_type", {"The vector's bits as one value of `dst_type`.", Caller::Thread}, packRow});
  rows.push_back(
      {"extra.unpack", "src, dst_type", {"The value's bits as a vector of `dst_type`.", Caller::Thread}, unpackRow});
  rows.push_back({"extra.pack_b32_v2",
                  "val0, val1",
                  {"Two 32-bit values as one uint64, the first in the low bits.", Caller::Thread},
                  packPairRow});
}

}  // namespace tandem::frontend::builtin
