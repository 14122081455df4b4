// libdevice functions: the operands' types choose the symbol.
#include "compiler/frontend/builtin/libdevice_table.h"
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static Scalar scalarOfLetter(char letter) {
  switch (letter) {
    case 'f': return Scalar::Fp32;
    case 'd': return Scalar::Fp64;
    case 'u': return Scalar::UInt32;
    case 'l': return Scalar::Int64;
    case 'm': return Scalar::UInt64;
    default: return Scalar::Int32;
  }
}

static bool accepts(char letter, const Value& value, const Tensor& tensor, bool exactSign) {
  DType want{scalarOfLetter(letter)}, have = tensor.type.dtype;
  if (value.is<double>()) return want.isFloat();
  if (value.is<Int>()) return true;
  if (have.isPointer() || have.isBool() || want.isFloat() != have.isFloat() || want.bitWidth() != have.bitWidth())
    return false;
  return !exactSign || want == have;
}

static const LibdeviceSymbol* choose(const LibdeviceFunction& f, const std::vector<Value>& values,
                                     const std::vector<Tensor>& tensors, bool exactSign) {
  for (const LibdeviceSymbol& symbol : f.symbols) {
    bool fits = true;
    for (size_t i = 0; i < tensors.size(); ++i) fits &= accepts(symbol.operands[i], values[i], tensors[i], exactSign);
    if (fits) return &symbol;
  }
  return nullptr;
}

// Brings operands of different types to Triton's common type.
static void unifyAll(Context& c, std::vector<Value>& values, std::vector<Tensor>& tensors) {
  for (size_t round = 0; round < 2; ++round)
    for (size_t i = 1; i < tensors.size(); ++i) {
      auto [first, other] = unify(c, values[0], values[i]);
      values[0] = tensors[0] = first;
      values[i] = tensors[i] = other;
    }
}

static std::string expected(const LibdeviceFunction& f) {
  std::string text;
  for (const LibdeviceSymbol& symbol : f.symbols) {
    std::string types;
    for (char letter : symbol.operands) types += (types.empty() ? "" : ", ") + DType{scalarOfLetter(letter)}.name();
    text += (text.empty() ? "(" : " or (") + types + ")";
  }
  return text;
}

static Value emit(Context& c, const LibdeviceFunction& f, std::vector<Value> values) {
  std::vector<Tensor> tensors;
  std::string given;
  for (const Value& value : values) {
    if (!value.isTensor() && !value.isNumber())
      c.fail("type", "`libdevice." + f.name + "` needs numbers, not " + describe(value));
    tensors.push_back(toTensor(c, value));
    given += (given.empty() ? "" : ", ") + describe(value);
  }
  const LibdeviceSymbol* symbol = choose(f, values, tensors, true);
  if (!symbol) symbol = choose(f, values, tensors, false);
  if (!symbol && values.size() > 1) {
    unifyAll(c, values, tensors);
    symbol = choose(f, values, tensors, false);
  }
  if (!symbol) c.fail("type", "`libdevice." + f.name + "` takes " + expected(f) + ", not " + given);
  for (size_t i = 0; i < tensors.size(); ++i)
    if (tensors[i].type.dtype.isFloat() != DType{scalarOfLetter(symbol->operands[i])}.isFloat() ||
        tensors[i].type.dtype.bitWidth() != DType{scalarOfLetter(symbol->operands[i])}.bitWidth())
      tensors[i] = cast(c, tensors[i], DType{scalarOfLetter(symbol->operands[i])});
  for (size_t i = 1; i < tensors.size(); ++i) std::tie(tensors[0], tensors[i]) = broadcast(c, tensors[0], tensors[i]);
  std::vector<mlir::Value> operands;
  for (const Tensor& tensor : tensors) operands.push_back(broadcastTo(c, tensor, tensors[0].type.shape).value);
  Type type{DType{scalarOfLetter(symbol->result)}, tensors[0].type.shape};
  Tensor result{tile::ExternElementwiseOp::create(c.builder, c.loc(), type.toMLIR(c.builder.getContext()), operands,
                                                  symbol->symbol),
                type};
  if (symbol->result == 'b') return compare(c, ast::CompareOp::Ne, result, Int(0));
  return result;
}

void addLibdeviceRows(Rows& rows) {
  for (const LibdeviceFunction& f : libdeviceTable()) {
    size_t arity = f.symbols.front().operands.size();
    rows.push_back({"tl.extra.libdevice." + f.name, f.parameters,
                    "The function `" + f.symbols.front().symbol + "` of CUDA's libdevice, of each element.",
                    [&f, arity](Context& c, const Arguments& a) {
                      std::vector<Value> values;
                      for (size_t i = 0; i < arity; ++i) values.push_back(a["arg" + std::to_string(i)]);
                      return emit(c, f, std::move(values));
                    }});
  }
}

}  // namespace tandem::frontend::builtin
