// Makes a request for a kernel of a file from types and constants in words.
#include "compiler/driver/compile.h"
#include "compiler/frontend/builtin/registry.h"
#include "compiler/frontend/emit/function.h"
#include "compiler/frontend/parse/parse.h"
#include "compiler/frontend/semantic/spelling.h"
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

namespace tandem::compiler {

// The modules of python/tandem/tilelink, by CMakeLists.txt.
const std::map<std::string, ImportedText>& channelModules();

namespace {
using namespace tandem::frontend;
using nlohmann::json;

[[noreturn]] void fail(const std::string& message) {
  throw CompileError({Severity::Error, "bad-request", message, nullptr, {}, {}});
}

std::string readFile(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) fail("`" + path + "` is a directory, not a file");
  std::ifstream in(path, std::ios::binary);
  if (!in) fail("cannot read `" + path + "`");
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

const ast::Stmt& findKernel(const ast::Module& module, const std::string& path, const std::string& name) {
  std::vector<const ast::Stmt*> kernels, functions;
  for (const ast::StmtPtr& s : module.body) {
    if (s->kind != ast::StmtKind::Function) continue;
    if (s->text == name) functions.push_back(s.get());
    if (hasDecorator(*s, "jit")) kernels.push_back(s.get());
  }
  if (!name.empty() && functions.empty()) fail("`" + path + "` has no function `" + name + "`");
  if (!name.empty()) return *functions.back();
  if (kernels.size() == 1) return *kernels[0];
  if (kernels.empty()) fail("`" + path + "` has no kernel: no function has a `jit` decorator");
  std::string names;
  for (const ast::Stmt* k : kernels) names += (names.empty() ? "`" : ", `") + k->text + "`";
  fail("`" + path + "` has " + std::to_string(kernels.size()) + " kernels: name one of " + names);
}

json literal(const ast::Expr& e, const std::string& name) {
  using ast::ExprKind;
  switch (e.kind) {
    case ExprKind::None: return {{"none", true}};
    case ExprKind::Bool: return {{"bool", e.boolean}};
    case ExprKind::Int:
      if (e.text.size() > 2 && e.text[1] > '9') break;
      return {{"int", e.text}};
    case ExprKind::Float: return {{"float", e.number}};
    case ExprKind::String: return {{"str", e.text}};
    case ExprKind::Unary:
      if (e.unary == ast::UnaryOp::Neg && e.children[0]->kind == ExprKind::Int)
        return {{"int", "-" + e.children[0]->text}};
      if (e.unary == ast::UnaryOp::Neg && e.children[0]->kind == ExprKind::Float)
        return {{"float", -e.children[0]->number}};
      break;
    case ExprKind::Tuple:
    case ExprKind::List: {
      json elements = json::array();
      for (const ast::ExprPtr& c : e.children) elements.push_back(literal(*c, name));
      return {{e.kind == ExprKind::List ? "list" : "tuple", elements}};
    }
    case ExprKind::Name:
    case ExprKind::Attribute:
      if (std::optional<DType> t = DType::parse(e.text)) return {{"dtype", t->name()}};
      break;
    default: break;
  }
  fail("the value of constexpr `" + name + "` is not a literal or a dtype");
}

ast::Module parseConstexprs(const std::string& text) {
  auto file = std::make_shared<SourceFile>();
  file->text = "f(" + text + ")\n";
  const std::string wanted = "constexprs must be `NAME=value, NAME=value`, but are `" + text + "`";
  try {
    ast::Module module = parse(file);
    if (module.body.size() != 1 || module.body[0]->exprs.size() != 1) fail(wanted);
    const ast::Expr& call = *module.body[0]->exprs[0];
    if (call.kind != ast::ExprKind::Call || call.children.size() != 1) fail(wanted);
    return module;
  } catch (const CompileError& error) {
    if (!error.diagnostic.file) throw;
    fail(wanted + ": " + error.diagnostic.message);
  }
}

std::map<std::string, json> readConstexprs(const std::string& text, const RequestWords& words) {
  ast::Module module = parseConstexprs(text);
  std::map<std::string, json> out;
  for (const ast::Keyword& k : module.body[0]->exprs[0]->keywords)
    if (!out.emplace(k.name, literal(*k.value, k.name)).second)
      fail("parameter `" + k.name + "` has two values in " + words.constexprs);
  return out;
}

struct TypeWord {
  std::string name, type;  // name empty when positional
};

std::string trimmed(std::string s) {
  size_t begin = s.find_first_not_of(" \t\n"), end = s.find_last_not_of(" \t\n");
  return begin == std::string::npos ? "" : s.substr(begin, end - begin + 1);
}

// Splits at commas outside brackets: "tensordesc<fp16[64, 32]>" is one word.
std::vector<TypeWord> readSignature(const std::string& text) {
  std::vector<TypeWord> out;
  std::string word;
  int depth = 0;
  auto flush = [&] {
    std::string w = trimmed(word);
    word.clear();
    if (w.empty()) return;
    size_t equals = w.find('=');
    if (equals == std::string::npos)
      out.push_back({"", w});
    else
      out.push_back({trimmed(w.substr(0, equals)), trimmed(w.substr(equals + 1))});
  };
  for (char c : text) {
    depth += (c == '<' || c == '[' || c == '(') - (c == '>' || c == ']' || c == ')');
    if (c == ',' && depth == 0)
      flush();
    else
      word += c;
  }
  flush();
  return out;
}

// "*fp16:16" promises a multiple of 16, "i32:1" the value 1: Triton's specialisations.
json specialised(const std::string& name, const std::string& type, size_t colon) {
  std::string base = trimmed(type.substr(0, colon)), promise = trimmed(type.substr(colon + 1));
  std::optional<DType> t = DType::parse(base);
  bool pointer = base.starts_with('*'), integer = t && !pointer && (base[0] == 'i' || base[0] == 'u');
  if (!(promise == "16" && (pointer || integer) && t) && !(promise == "1" && integer))
    fail("`" + type + "` is not a type, for parameter `" + name +
         "`; `:16` may follow a pointer or an integer, `:1` an integer");
  if (promise == "1") return {{"name", name}, {"constexpr", {{"int", "1"}}}};
  return {{"name", name}, {"type", base}, {"divisibility", 16}};
}

json argumentOf(const std::string& name, const std::string& type) {
  if (size_t colon = type.find(':'); colon != std::string::npos) return specialised(name, type, colon);
  if (!type.starts_with("tensordesc<")) {
    if (!DType::parse(type)) fail("`" + type + "` is not a type, for parameter `" + name + "`");
    return {{"name", name}, {"type", type}};
  }
  size_t open = type.find('['), close = type.find(']');
  if (open == std::string::npos || close == std::string::npos || close < open)
    fail("`" + type + "` is not a descriptor type such as `tensordesc<fp16[64, 32]>`");
  json shape = json::array();
  std::istringstream sizes(type.substr(open + 1, close - open - 1));
  for (std::string size; std::getline(sizes, size, ',');) {
    std::string digits = trimmed(size);
    if (digits.empty() || digits.size() > 9 || digits.find_first_not_of("0123456789") != std::string::npos)
      fail("`" + size + "` is not a block size");
    shape.push_back(std::stoll(digits));
  }
  return {{"name", name}, {"descriptor", {{"dtype", trimmed(type.substr(11, open - 11))}, {"block_shape", shape}}}};
}

void checkParameter(const ast::Stmt& kernel, const std::string& name, const std::string& givenBy) {
  std::vector<std::string> known;
  for (const ast::Parameter& p : kernel.parameters) known.push_back(p.name);
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  std::string near = closestName(name, known);
  fail("`" + kernel.text + "` has no parameter `" + name + "`, which " + givenBy + " names" +
       (near.empty() ? "" : "; did you mean `" + near + "`?"));
}

std::string counted(size_t count, const std::string& what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

[[noreturn]] void failWithoutType(const ast::Stmt& kernel, const std::string& name, size_t given,
                                  const RequestWords& words) {
  if (words.isCall)
    fail("parameter `" + name + "` of `" + kernel.text + "` has no argument: " + counted(given, "argument") + " given");
  fail("parameter `" + name + "` of `" + kernel.text + "` has no type; give it with " + words.signature + " '" + name +
       "=...'");
}

[[noreturn]] void failWithoutValue(const ast::Stmt& kernel, const std::string& name, const RequestWords& words) {
  fail("constexpr parameter `" + name + "` of `" + kernel.text + "` has no value; give it " +
       (words.isCall ? "in " + words.constexprs : "with " + words.constexprs + " '" + name + "=...'"));
}

[[noreturn]] void failWithTooMany(const ast::Stmt& kernel, size_t given, size_t taken, const RequestWords& words) {
  if (words.isCall)
    fail("`" + kernel.text + "` takes " + counted(taken, "argument") + " beside its constants, " +
         std::to_string(given) + " given");
  fail("the signature has " + std::to_string(given) + " types, but `" + kernel.text + "` takes " +
       std::to_string(taken));
}

json makeArguments(const ast::Stmt& kernel, const std::vector<TypeWord>& types,
                   const std::map<std::string, json>& constexprs, const RequestWords& words) {
  json out = json::array();
  std::map<std::string, std::string> named;
  std::vector<std::string> positional;
  for (const TypeWord& t : types) {
    if (t.name.empty()) {
      positional.push_back(t.type);
      continue;
    }
    if (constexprs.contains(t.name))
      fail("parameter `" + t.name + "` has a type in " + words.signature + " and a value in " + words.constexprs +
           "; give one of them");
    if (!named.emplace(t.name, t.type).second) fail("parameter `" + t.name + "` has two types in " + words.signature);
  }
  for (const auto& [name, type] : named) checkParameter(kernel, name, words.signature);
  for (const auto& [name, value] : constexprs) checkParameter(kernel, name, words.constexprs);
  size_t next = 0;
  for (const ast::Parameter& p : kernel.parameters) {
    if (auto c = constexprs.find(p.name); c != constexprs.end()) {
      out.push_back({{"name", p.name}, {"constexpr", c->second}});
    } else if (auto t = named.find(p.name); t != named.end()) {
      out.push_back(argumentOf(p.name, t->second));
    } else if (isConstexprAnnotation(p.annotation)) {
      if (!p.defaultValue) failWithoutValue(kernel, p.name, words);
    } else if (next < positional.size()) {
      out.push_back(argumentOf(p.name, positional[next++]));
    } else if (!p.defaultValue) {
      failWithoutType(kernel, p.name, positional.size(), words);
    }
  }
  if (next < positional.size()) failWithTooMany(kernel, positional.size(), next, words);
  return out;
}

// Host code that this parser does not take is no module of kernels.
std::optional<ast::Module> parsedModule(const ImportedText& imported) {
  auto file = std::make_shared<SourceFile>();
  file->name = imported.file;
  file->text = imported.text;
  try {
    return parse(file);
  } catch (const CompileError&) {
    return {};
  }
}

void addImports(const ast::Module& importing, const FindModule& find, json& imports) {
  for (const ast::StmtPtr& s : importing.body) {
    std::vector<std::string> modules;
    if (s->kind == ast::StmtKind::ImportFrom) modules.push_back(s->text);
    if (s->kind == ast::StmtKind::Import)
      for (const ast::ImportName& n : s->names) modules.push_back(n.name);
    for (const std::string& name : modules) {
      if (imports.contains(name) || canonicalModule(name)) continue;
      std::optional<ImportedText> found = find(name);
      if (auto channels = channelModules().find(name); !found && channels != channelModules().end())
        found = channels->second;
      std::optional<ast::Module> module = found ? parsedModule(*found) : std::nullopt;
      if (!module) continue;
      imports[name] = {{"file", found->file}, {"source", found->text}};
      addImports(*module, find, imports);
    }
  }
}

}  // namespace

FindModule modulesBeside(const std::string& path) {
  return [path](const std::string& module) -> std::optional<ImportedText> {
    if (module.starts_with('.')) return {};
    std::string relative = module + ".py";
    std::replace(relative.begin(), relative.end() - 3, '.', '/');
    std::filesystem::path folder = std::filesystem::absolute(path);
    while (folder != folder.parent_path()) {
      folder = folder.parent_path();
      std::error_code ignored;
      if (std::filesystem::is_regular_file(folder / relative, ignored))
        return ImportedText{(folder / relative).string(), readFile((folder / relative).string())};
    }
    return {};
  };
}

Emitted requestForText(const std::string& text, const std::string& fileName, const std::string& kernel,
                       const std::string& signature, const std::string& constexprs, int numWarps,
                       const RequestWords& words, const FindModule& find) {
  try {
    auto file = std::make_shared<SourceFile>();
    file->name = fileName;
    file->text = text;
    ast::Module module = parse(file);
    const ast::Stmt& node = findKernel(module, fileName, kernel);
    json imports = json::object();
    if (find) addImports(module, find, imports);
    json request = {
        {"kernel", node.text},
        {"imports", imports},
        {"module", {{"file", fileName}, {"source", text}}},
        {"arguments", makeArguments(node, readSignature(signature), readConstexprs(constexprs, words), words)},
        {"options", {{"num_warps", numWarps}}}};
    // Sources are UTF-8, or they would not parse; names of files need not be.
    return {request.dump(-1, ' ', false, json::error_handler_t::replace), ""};
  } catch (const CompileError& error) {
    return {"", error.diagnostic.render()};
  } catch (const std::exception& error) {
    return {"", std::string("error: ") + error.what() + "\n"};
  }
}

Emitted requestForFile(const std::string& path, const std::string& kernel, const std::string& signature,
                       const std::string& constexprs, int numWarps, const RequestWords& words) {
  try {
    return requestForText(readFile(path), path, kernel, signature, constexprs, numWarps, words, modulesBeside(path));
  } catch (const CompileError& error) {
    return {"", error.diagnostic.render()};
  }
}

}  // namespace tandem::compiler
