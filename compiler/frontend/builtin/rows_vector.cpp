// Per-thread vectors: making, loading, storing, arithmetic.
#include "compiler/frontend/builtin/vectors.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static Value makeVectorRow(Context& c, const Arguments& a) {
  Value list = sequence(a.rest());
  if (list.elements().empty()) c.fail("argument-count", "`make_vector` needs at least one element");
  vectorLength(c, Int(list.elements().size()), "number of elements");
  std::vector<Tensor> scalars;
  std::optional<DType> dtype;
  for (const Value& value : list.elements())
    if (value.isTensor() && !dtype) dtype = value.as<Tensor>().type.dtype;
  for (const Value& value : list.elements()) {
    Tensor s = dtype && value.isNumber() ? scalarOf(c, value, *dtype, "args") : scalar(c, value, "args");
    if (!dtype) dtype = s.type.dtype;
    if (s.type.dtype != *dtype)
      c.fail("type", "`make_vector` has elements of " + dtype->name() + " and " + s.type.dtype.name());
    scalars.push_back(s);
  }
  return makeVector(c, scalars);
}

static Value zerosVectorRow(Context& c, const Arguments& a) {
  uint32_t length = vectorLength(c, a["vec_size"], "vec_size");
  Tensor zero = constant(c, Int(0), constexprDType(c, a["dtype"], "dtype"));
  return makeVector(c, std::vector<Tensor>(length, zero));
}

static Value fillVectorRow(Context& c, const Arguments& a) {
  uint32_t length = vectorLength(c, a["vec_size"], "vec_size");
  Tensor value = scalarOf(c, a["val"], constexprDType(c, a["dtype"], "dtype"), "val");
  return makeVector(c, std::vector<Tensor>(length, value));
}

static Value loadRow(Context& c, const Arguments& a) {
  return threadLoad(c, pointer(c, a["ptr"], "ptr"), vectorLength(c, a["vec_size"], "vec_size"),
                    access(c, a["scope"], a["semantic"], tile::Semantic::Acquire));
}

static Value storeRow(Context& c, const Arguments& a) {
  Tensor destination = writable(c, a["ptr"], "ptr"), vector = vectorArgument(c, a["vec"], "vec");
  if (vector.type.dtype != destination.type.dtype.pointee())
    c.fail("type", "cannot store " + vector.type.name() + " through a " + destination.type.name());
  threadStore(c, destination, vector, access(c, a["scope"], a["semantic"], tile::Semantic::Release));
  return None{};
}

static Value recastRow(Context& c, const Arguments& a) {
  Tensor vector = vectorArgument(c, a["self"], "self");
  DType dtype = constexprDType(c, a["new_elem_dtype"], "new_elem_dtype");
  int64_t bits = int64_t(vector.type.vectorLength) * vector.type.dtype.bitWidth();
  if (dtype == DType{Scalar::Void} || bits % dtype.bitWidth() != 0)
    c.fail("type", "cannot recast " + vector.type.name() + " to elements of " + dtype.name());
  return recast(c, vector, dtype, static_cast<uint32_t>(bits / dtype.bitWidth()));
}

static Value toRow(Context& c, const Arguments& a) {
  Tensor vector = vectorArgument(c, a["self"], "self");
  DType dtype = constexprDType(c, a["dtype"], "dtype");
  bool bits = constexprBool(c, a["bitcast"], "bitcast");
  std::vector<Tensor> converted;
  for (const Tensor& e : elements(c, vector)) converted.push_back(bits ? bitcast(c, e, dtype) : cast(c, e, dtype));
  return makeVector(c, converted);
}

// Elementwise with a vector of the same length or a scalar.
static Value arithmetic(Context& c, ast::BinaryOp op, const Value& x, const Value& y) {
  bool left = x.isTensor() && x.as<Tensor>().type.isVector(), right = y.isTensor() && y.as<Tensor>().type.isVector();
  const Tensor& shape = vectorArgument(c, left ? x : y, "x");
  if (left && right && x.as<Tensor>().type.vectorLength != y.as<Tensor>().type.vectorLength)
    c.fail("type", "vectors have lengths " + std::to_string(x.as<Tensor>().type.vectorLength) + " and " +
                       std::to_string(y.as<Tensor>().type.vectorLength));
  std::vector<Tensor> results;
  for (uint32_t i = 0; i < shape.type.vectorLength; ++i) {
    Value lhs = left ? Value(element(c, x.as<Tensor>(), i)) : x, rhs = right ? Value(element(c, y.as<Tensor>(), i)) : y;
    results.push_back(toTensor(c, binary(c, op, lhs, rhs)));
  }
  return makeVector(c, results);
}

static Builtin arithmeticRow(const std::string& name, const std::string& signature, ast::BinaryOp op,
                             bool reflected = false) {
  return {name,
          signature,
          {"Elementwise, of vectors of one length, or of a vector and a number.", Caller::Thread},
          [op, reflected](Context& c, const Arguments& a) {
            return reflected ? arithmetic(c, op, a["y"], a["x"]) : arithmetic(c, op, a["x"], a["y"]);
          }};
}

static Value arithmeticByWordRow(Context& c, const Arguments& a) {
  std::string word = constexprString(c, a["op"], "op");
  if (word == "add" || word == "+") return arithmetic(c, ast::BinaryOp::Add, a["x"], a["y"]);
  if (word == "sub" || word == "-") return arithmetic(c, ast::BinaryOp::Sub, a["x"], a["y"]);
  if (word == "mul" || word == "*") return arithmetic(c, ast::BinaryOp::Mul, a["x"], a["y"]);
  c.fail("argument-value", "`op` is `" + word + "`, which is none of `add`, `sub`, `mul`");
}

void addVectorRows(Rows& rows) {
  rows.push_back(
      {"dl.make_vector", "*args", {"A vector of the values, in one thread.", Caller::Thread}, makeVectorRow});
  rows.push_back(
      {"dl.zeros_vector", "vec_size, dtype", {"A vector of `vec_size` zeros.", Caller::Thread}, zerosVectorRow});
  rows.push_back({"dl.fill_vector",
                  "vec_size, dtype, val",
                  {"A vector with `val` in every element.", Caller::Thread},
                  fillVectorRow});
  rows.push_back({"dl.vector_binOp",
                  "x, y, op",
                  {"The elementwise sum, difference or product: `op` is \"add\", \"sub\" or \"mul\".", Caller::Thread},
                  arithmeticByWordRow});
  for (const char* module : {"dl.", "extra."}) {
    rows.push_back({std::string(module) + "ld_vector",
                    "ptr, vec_size=1, scope='', semantic=''",
                    {"`vec_size` consecutive elements in one access of the thread.", Caller::Thread, "M1"},
                    loadRow});
    rows.push_back({std::string(module) + "st_vector",
                    "ptr, vec, scope='', semantic=''",
                    {"Writes the vector's elements in one access of the thread.", Caller::Thread, "M1"},
                    storeRow});
  }
  rows.push_back({"dl.vector.recast",
                  "self, new_elem_dtype",
                  {"The vector's bits as elements of another type.", Caller::Thread},
                  recastRow});
  rows.push_back({"dl.vector.to",
                  "self, dtype, fp_downcast_rounding=None, bitcast=False",
                  {"Each element converted to `dtype`.", Caller::Thread},
                  toRow});
  static const std::pair<const char*, ast::BinaryOp> ops[] = {
      {"add", ast::BinaryOp::Add}, {"sub", ast::BinaryOp::Sub}, {"mul", ast::BinaryOp::Mul}};
  for (const auto& [word, op] : ops) {
    rows.push_back(arithmeticRow(std::string("dl.vector_") + word, "x, y", op));
    rows.push_back(arithmeticRow(std::string("dl.vector.__") + word + "__", "x, y", op));
    rows.push_back(arithmeticRow(std::string("dl.vector.__r") + word + "__", "x, y", op, true));
  }
}

}  // namespace tandem::frontend::builtin
