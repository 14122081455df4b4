// Finds the functions of the embedded sources: every public function and aggregate of a file is a name of the file's
// module.
#include "compiler/frontend/builtin/library.h"
#include "compiler/frontend/parse/parse.h"

namespace tandem::frontend {
namespace builtin {

static const char* const kTensorMethods[] = {"argmax",  "argmin", "cdiv",  "cumprod",   "cumsum",  "flip",    "item",
                                             "max",     "min",    "ravel", "reduce_or", "sigmoid", "softmax", "sort",
                                             "squeeze", "sum",    "topk",  "unsqueeze", "xor_sum"};

// Names with an underscore are the file's own, but for one that Triton's library has too and others' kernels use.
static bool isPublic(const std::string& name) {
  return !name.starts_with("_") || name.starts_with("__") || name == "_log2";
}

// The parameters of a function, or of an aggregate's constructor, as its file writes them, on one line.
static std::string signatureIn(std::string_view text, const std::string& name, bool isAggregate) {
  constexpr std::string_view kConstructor = "def __init__(self, ";
  size_t at = text.find((isAggregate ? "class " : "def ") + name + (isAggregate ? ":" : "("));
  size_t begin = isAggregate ? text.find(kConstructor, at) + kConstructor.size() : text.find('(', at) + 1;
  size_t end = text.find("):\n", begin);
  std::string out;
  for (char ch : text.substr(begin, end - begin))
    if (ch != ' ' && ch != '\n')
      out += ch;
    else if (!out.empty() && out.back() != ' ')
      out += ' ';
  return out;
}

static std::string docOf(const ast::Stmt& definition) {
  const ast::Stmt& first = *definition.body.front();
  return first.kind == ast::StmtKind::Expr && first.exprs[0]->kind == ast::ExprKind::String ? first.exprs[0]->text : "";
}

static std::unordered_map<std::string, LibraryFunction> readLibrary() {
  std::unordered_map<std::string, LibraryFunction> functions;
  for (const EmbeddedSource& source : embeddedSources()) {
    auto file = std::make_shared<SourceFile>(SourceFile{source.name, source.text});
    ast::Module module = parse(file);
    for (const ast::StmtPtr& statement : module.body)
      if ((statement->kind == ast::StmtKind::Function || statement->kind == ast::StmtKind::Class) &&
          isPublic(statement->text))
        functions[std::string(source.module) + "." + statement->text] = {
            file, statement->text, signatureIn(file->text, statement->text, statement->kind == ast::StmtKind::Class),
            docOf(*statement)};
  }
  for (const char* method : kTensorMethods)
    functions[std::string("tl.tensor.") + method] = functions.at(std::string("tl.") + method);
  for (const char* name : {"cdiv", "next_power_of_2"})
    functions[std::string("triton.") + name] = functions.at(std::string("tl.") + name);
  return functions;
}

const std::unordered_map<std::string, LibraryFunction>& libraryFunctions() {
  static const auto functions = readLibrary();
  return functions;
}

}  // namespace builtin

std::optional<LibraryFunction> findLibraryFunction(const std::string& canonicalName) {
  auto found = builtin::libraryFunctions().find(canonicalName);
  if (found == builtin::libraryFunctions().end()) return std::nullopt;
  return found->second;
}

}  // namespace tandem::frontend
