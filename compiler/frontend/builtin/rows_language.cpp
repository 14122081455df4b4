// Some names of Triton are classes, decorators or target code: these rows say what they mean inside a kernel, or why
// they mean nothing there.
#include "compiler/frontend/builtin/operands.h"

using namespace tandem::frontend::semantic;

namespace tandem::frontend::builtin {

static Builtin identity(const std::string& name, const std::string& parameter = "fn") {
  return {name,
          parameter,
          {"`" + parameter + "` itself: inside a kernel it has no other meaning.", Caller::Compiler},
          [parameter](Context&, const Arguments& a) { return a[parameter]; }};
}

static std::vector<Value> asList(const Value& value) {
  return value.isTuple() ? value.elements() : std::vector<Value>{value};
}

static Value inlineAsm(Context& c, const Arguments& a) {
  std::vector<Tensor> operands;
  for (const Value& value : asList(a["args"])) operands.push_back(toTensor(c, value));
  for (size_t i = 1; i < operands.size(); ++i)
    std::tie(operands[0], operands[i]) = broadcast(c, operands[0], operands[i]);
  std::vector<int64_t> shape = operands.empty() ? std::vector<int64_t>{} : operands[0].type.shape;
  std::vector<mlir::Value> values;
  for (Tensor& operand : operands) values.push_back(broadcastTo(c, operand, shape).value);
  std::vector<Type> types;
  std::vector<mlir::Type> resultTypes;
  for (const Value& dtype : asList(a["dtype"])) {
    types.push_back(Type{constexprDType(c, dtype, "dtype"), shape});
    resultTypes.push_back(types.back().toMLIR(c.builder.getContext()));
  }
  Int pack = constexprInt(c, a["pack"], "pack");
  if (pack < 1 || pack > 1024) c.fail("argument-value", "`pack` is " + repr(a["pack"]) + "; it must be positive");
  auto op = tile::InlineAsmOp::create(c.builder, c.loc(), resultTypes, constexprString(c, a["asm"], "asm"),
                                      constexprString(c, a["constraints"], "constraints"),
                                      constexprBool(c, a["is_pure"], "is_pure"), static_cast<int32_t>(pack), values);
  if (!a["dtype"].isTuple()) return Tensor{op->getResult(0), types[0]};
  std::vector<Value> results;
  for (size_t i = 0; i < types.size(); ++i) results.push_back(Tensor{op->getResult(i), types[i]});
  return makeTuple(std::move(results));
}

static Value makeSlice(Context&, const Arguments& a) {
  return SliceValue{std::make_shared<Value>(a["start"]), std::make_shared<Value>(a["stop"]),
                    std::make_shared<Value>(a["step"])};
}

static void addClasses(Rows& rows) {
  for (const char* name :
       {"tensor", "tensor_descriptor", "tensor_descriptor_base", "block_type", "tuple_type", "base_value", "base_type",
        "constexpr_type", "const", "nv_tma_desc_type", "tensor_descriptor_type", "slice_type", "pointer_type_base"})
    rows.push_back(unsupported(std::string("tl.") + name,
                               "it is a class for annotations and `isinstance`, kernels do not make its objects"));
  rows.push_back(unsupported("dl.vector", "make vectors with `make_vector`, `zeros_vector` or `ld_vector`"));
  rows.push_back(unsupported("dl.vector_type", "it is a class for annotations"));
  rows.push_back(unsupported("dl.SharedMemoryDesc", "make buffers with `allocate_smem`"));
  rows.push_back(unsupported("dl.SharedMemDescType", "it is a class for annotations"));
}

static void addHostNames(Rows& rows) {
  for (const char* name :
       {"autotune", "heuristics", "Config", "set_allocator", "compile", "TensorDescriptor", "testing", "runtime"})
    rows.push_back(unsupported(std::string("triton.") + name, "it is for the host, not for kernels"));
}

void addLanguageRows(Rows& rows) {
  for (const char* name :
       {"tl.constexpr_function", "tl.extern", "tl.builtin", "tl.jit", "tl._aggregate", "tl.must_use_result",
        "triton.jit", "triton_dist.jit", "triton.constexpr_function", "tl._tensor_member_fn"})
    rows.push_back(identity(name));
  rows.push_back(identity("tl.constexpr", "value"));
  rows.push_back(identity("tl._unwrap_if_constexpr", "o"));
  rows.push_back(
      {"tl.tuple", "args", {"A tuple of the elements of `args`.", Caller::Compiler}, [](Context&, const Arguments& a) {
         return makeTuple(asList(a["args"]));
       }});
  rows.push_back({"tl.slice",
                  "start, stop=None, step=None",
                  {"A slice, as in `x[start:stop:step]`.", Caller::Compiler},
                  makeSlice});
  rows.push_back(
      {"tl.inline_asm_elementwise", "asm, constraints, args, dtype, is_pure, pack",
       "PTX for each `pack` elements of `args`, whose results have the types `dtype`. `constraints` names the operands "
       "as LLVM does; `is_pure` says that calls with the same arguments are one.",
       inlineAsm});
  rows.push_back(unsupported("tl.dispatch", "bitcode libraries other than libdevice are not linked"));
  addClasses(rows);
  addHostNames(rows);
}

}  // namespace tandem::frontend::builtin
