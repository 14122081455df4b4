// The C ABI: the compiler. No exception leaves this file.
#include "api/code.h"
#include "api/gpu_handles.h"
#include "api/guarded.h"
#include "api/handles.h"
#include "api/text_out.h"
#include "compiler/driver/compile.h"
#include "compiler/driver/image_cache.h"
#include "tandem/element_types.h"

using namespace tandem;
using nlohmann::json;

namespace {

const char* typeWord(interpreter::Elem e) {
  using interpreter::Elem;
  switch (e) {
#define TANDEM_ROW(dtype, scalar, elem, mlirType, word, tl, framework, bits, mantissa, bias, specials, dlpack) \
  case Elem::elem: return word;
    TANDEM_MEMORY_TYPES(TANDEM_ROW)
#undef TANDEM_ROW
  }
  return "?";
}

// "sim" when the request names none; a request that is no JSON is the compiler's to refuse.
std::string targetOf(const std::string& request) {
  json r = json::parse(request, nullptr, false);
  if (!r.is_object()) return "sim";
  auto options = r.find("options");
  if (options == r.end() || !options->is_object()) return "sim";
  auto target = options->find("target");
  return target != options->end() && target->is_string() ? target->get<std::string>() : "sim";
}

template <class Compiled> Compiled checked(Compiled compiled) {
  if (!compiled.error.empty()) throw std::runtime_error(compiled.error);
  return compiled;
}

td_program compile(const std::string& request) {
  if (targetOf(request) == "sim") {
    auto compiled = checked(compiler::compileToProgram(request));
    return {{compiled.program, nullptr}, compiled.diagnostics};
  }
  auto compiled = checked(compiler::compileCached(request));
  return {{nullptr, std::make_shared<runtime::cuda::Kernel>(compiled.image)}, compiled.diagnostics};
}

json argumentsOf(const runtime::Code& code) {
  json arguments = json::array();
  if (code.kernel)
    for (abi::ParamType t : code.kernel->image().params) arguments.push_back({{"name", ""}, {"type", wordOf(t)}});
  else
    for (const interpreter::Argument& a : code.program->arguments)
      arguments.push_back({{"name", a.name},
                           {"type", std::string(a.isPointer ? "*" : "") + typeWord(a.isPointer ? a.pointee : a.elem)}});
  return arguments;
}

}  // namespace

extern "C" {

int td_compile(const char* request, td_program** program) {
  return guarded([&] {
    td_program compiled = compile(&required(request, "request"));
    auto& place = required(program, "program");
    place = new td_program(std::move(compiled));
  });
}
int td_program_info(td_program* program, char** out) {
  return guarded([&] {
    const runtime::Code& code = required(program, "program").code;
    json warnings = json::array();
    for (const Diagnostic& d : program->warnings) warnings.push_back(d.render());
    required(out, "out") = copyOut(json{
        {"name", nameOf(code)}, {"target", targetOf(code)}, {"arguments", argumentsOf(code)}, {"warnings", warnings}});
  });
}
void td_program_release(td_program* program) { delete program; }
int td_emit(const char* request, const char* stage, char** text) {
  return guarded([&] {
    auto emitted = checked(compiler::emit(&required(request, "request"), &required(stage, "stage")));
    auto& place = required(text, "text");
    place = copyOut(emitted.text);
  });
}
int td_request_for_file(const char* path, const char* kernel, const char* signature, const char* constexprs,
                        int numWarps, char** request) {
  return guarded([&] {
    auto made =
        checked(compiler::requestForFile(&required(path, "path"), kernel ? kernel : "", signature ? signature : "",
                                         constexprs ? constexprs : "", numWarps, {"`signature`", "`constexprs`"}));
    auto& place = required(request, "request");
    place = copyOut(made.text);
  });
}
int td_builtins(char** out) {
  return guarded([&] {
    auto& place = required(out, "out");
    place = copyOut(compiler::builtinsJson());
  });
}

}  // extern "C"
