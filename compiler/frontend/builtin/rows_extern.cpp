// Functions by symbol: of the device library (`extern_elementwise`) and of LLVM (`inline_intrinsic_elementwise`).
#include "compiler/frontend/builtin/intrinsics.h"
#include "compiler/frontend/builtin/libdevice_table.h"
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static const LibdeviceSymbol* findSymbol(const std::string& symbol) {
  for (const LibdeviceFunction& f : libdeviceTable())
    for (const LibdeviceSymbol& s : f.symbols)
      if (s.symbol == symbol) return &s;
  return nullptr;
}

static bool isWide(char letter) { return letter == 'd' || letter == 'l' || letter == 'm'; }
static bool isFloat(char letter) { return letter == 'f' || letter == 'd'; }

// One entry of the table: the operands' types, the symbol, the result's type.
struct Choice {
  std::vector<DType> operands;
  std::string symbol;
  DType result;
};

static std::vector<Choice> choicesOf(Context& c, const Value& table) {
  if (!table.isTuple() || !table.as<std::shared_ptr<Tuple>>()->isDictionary)
    c.fail("type", "`arg_type_symbol_dict` must be a dictionary, not " + describe(table));
  std::vector<Choice> choices;
  for (const Value& entry : table.elements()) {
    const Value &key = entry.elements()[0], &value = entry.elements()[1];
    Choice choice;
    std::vector<Value> types = key.isTuple() ? key.elements() : std::vector<Value>{key};
    for (const Value& type : types) choice.operands.push_back(constexprDType(c, type, "arg_type_symbol_dict"));
    if (!value.isTuple() || value.elements().size() != 2)
      c.fail("type", "`arg_type_symbol_dict` gives a symbol and a result type for each key, not " + describe(value));
    choice.symbol = constexprString(c, value.elements()[0], "symbol");
    choice.result = constexprDType(c, value.elements()[1], "result type");
    choices.push_back(std::move(choice));
  }
  return choices;
}

static std::string typeList(const std::vector<DType>& types) {
  std::string text;
  for (DType type : types) text += (text.empty() ? "" : ", ") + type.name();
  return "(" + text + ")";
}

static bool isOfType(DType type, char letter) {
  return !type.isPointer() && type.isFloat() == isFloat(letter) && type.bitWidth() == (isWide(letter) ? 64 : 32);
}

static void checkSymbol(Context& c, const Choice& choice) {
  const LibdeviceSymbol* symbol = findSymbol(choice.symbol);
  if (!symbol)
    c.fail("unknown-symbol", "`" + choice.symbol + "` is no function of libdevice, the one library that is linked");
  bool fits = symbol->operands.size() == choice.operands.size();
  for (size_t k = 0; fits && k < symbol->operands.size(); ++k) fits = isOfType(choice.operands[k], symbol->operands[k]);
  if (!fits)
    c.fail("type", "`" + choice.symbol + "` has " + std::to_string(symbol->operands.size()) +
                       " operands and not the types " + typeList(choice.operands));
  if (!isOfType(choice.result, symbol->result) && !(choice.result.isBool() && symbol->result == 'b'))
    c.fail("type", "`" + choice.symbol + "` does not give `" + choice.result.name() + "`");
}

static Value externRow(Context& c, const Arguments& a) {
  std::vector<Tensor> tensors;
  std::vector<DType> types;
  for (const Value& value : a["args"].isTuple() ? a["args"].elements() : std::vector<Value>{a["args"]}) {
    tensors.push_back(toTensor(c, value));
    types.push_back(tensors.back().type.dtype);
  }
  if (tensors.empty()) c.fail("argument-value", "`args` is empty; a function of libdevice takes 1 operand or more");
  const std::vector<Choice> choices = choicesOf(c, a["arg_type_symbol_dict"]);
  const Choice* chosen = nullptr;
  std::string offered;
  for (const Choice& choice : choices) {
    if (choice.operands == types) chosen = &choice;
    offered += (offered.empty() ? "" : " or ") + typeList(choice.operands);
  }
  if (!chosen) c.fail("type", "`arg_type_symbol_dict` has " + offered + ", not " + typeList(types));
  checkSymbol(c, *chosen);
  for (size_t k = 1; k < tensors.size(); ++k) std::tie(tensors[0], tensors[k]) = broadcast(c, tensors[0], tensors[k]);
  std::vector<mlir::Value> operands;
  for (const Tensor& t : tensors) operands.push_back(broadcastTo(c, t, tensors[0].type.shape).value);
  Type type{chosen->result, tensors[0].type.shape};
  return Tensor{tile::ExternElementwiseOp::create(c.builder, c.loc(), type.toMLIR(c.builder.getContext()), operands,
                                                  chosen->symbol),
                type};
}

static Value intrinsicRow(Context& c, const Arguments& a) {
  std::string name = constexprString(c, a["intrinsic"], "intrinsic");
  std::vector<Value> args = a["args"].isTuple() ? a["args"].elements() : std::vector<Value>{a["args"]};
  const Intrinsic* intrinsic = findIntrinsic(name);
  if (!intrinsic) c.fail("unknown-symbol", "`" + name + "` is no known LLVM intrinsic");
  if (args.size() != intrinsic->operandCount)
    c.fail("argument-count", "`" + name + "` takes " + std::to_string(intrinsic->operandCount) + " operands, but got " +
                                 std::to_string(args.size()));
  Value result = intrinsic->emit(c, args);
  if (!result.isTensor()) return result;
  return cast(c, result.as<Tensor>(), constexprDType(c, a["dtype"], "dtype"));
}

void addExternRows(Rows& rows) {
  std::string signature = "lib_name, lib_path, args, arg_type_symbol_dict, is_pure";
  for (const char* module : {"tl.", "dl."})
    rows.push_back({std::string(module) + "extern_elementwise", signature + ", check_args=True",
                    "A function of libdevice by its symbol, of each element.", externRow});
  rows.push_back({"dl.extern_call", signature, "As `extern_elementwise`.", externRow});
  rows.push_back({"tl.inline_intrinsic_elementwise", "intrinsic, args, dtype, is_pure=True",
                  "An intrinsic of LLVM's NVPTX target, of each element.", intrinsicRow});
}

}  // namespace tandem::frontend::builtin
