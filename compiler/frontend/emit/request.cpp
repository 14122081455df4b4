// Reads requests. A request gives functions with their globals as values, or one file whose statements define them.
#include "compiler/frontend/emit/request.h"
#include "compiler/frontend/emit/module_file.h"
#include "compiler/frontend/emit/special.h"
#include <charconv>
#include <nlohmann/json.hpp>

namespace tandem::frontend {
namespace {
using nlohmann::json;

[[noreturn]] void failRequest(const std::string& message) {
  throw CompileError({Severity::Error, "bad-request", message, nullptr, {}, {}});
}

[[noreturn]] void failKernel(const Function& kernel, const std::string& message) {
  throw CompileError({Severity::Error, "bad-request", message, kernel.file(), kernel.range(), {}});
}

const json& member(const json& object, const char* name) {
  auto it = object.is_object() ? object.find(name) : object.end();
  if (!object.is_object() || it == object.end()) failRequest(std::string("the request lacks `") + name + "`");
  return *it;
}

std::string text(const json& value, const char* what) {
  if (!value.is_string()) failRequest(std::string("`") + what + "` of the request is not a string");
  return value.get<std::string>();
}

Int integer(const std::string& digits) {
  Int value = 0;
  bool negative = digits.starts_with('-');
  if (digits.size() == negative || digits.size() > 30)
    failRequest("integer `" + digits + "` of the request is out of range");
  for (size_t i = negative; i < digits.size(); ++i) {
    if (digits[i] < '0' || digits[i] > '9') failRequest("`" + digits + "` of the request is not an integer");
    value = value * 10 + (digits[i] - '0');
  }
  return negative ? -value : value;
}

double real(const std::string& digits) {
  double value = 0;
  auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size())
    failRequest("`" + digits + "` of the request is not a number");
  return value;
}

DType dtype(const std::string& word) {
  std::optional<DType> t = DType::parse(word);
  if (!t) failRequest("`" + word + "` is not a type");
  return *t;
}

// The functions of a request, made on first use.
class Functions {
 public:
  Functions(Session& session, const json& table) : session_(session), table_(table) {}
  Value get(const std::string& id);
  Value value(const json& v);

 private:
  Value namedTuple(const json& c);

  Session& session_;
  const json& table_;
  std::map<std::string, Value> made_;
};

class RequestGlobals : public Globals {
 public:
  RequestGlobals(Functions& functions, const json& values) : functions_(functions), values_(values) {}
  std::optional<Value> find(const std::string& name) override {
    auto it = values_.find(name);
    if (it == values_.end()) return {};
    return functions_.value(*it);
  }
  std::vector<std::string> names() const override {
    std::vector<std::string> out;
    for (const auto& [name, value] : values_.items()) out.push_back(name);
    return out;
  }

 private:
  Functions& functions_;
  const json& values_;
};

const json& emptyObject() {
  static const json empty = json::object();
  return empty;
}

// Lets the session own the table for as long as functions of it may be used.
class FunctionTable : public Globals {
 public:
  FunctionTable(Session& session, const json& table) : functions(session, table) {}
  std::optional<Value> find(const std::string&) override { return {}; }
  std::vector<std::string> names() const override { return {}; }
  Functions functions;
};

const ast::Stmt* definition(const ast::Body& body) {
  for (const ast::StmtPtr& s : body)
    if (s->kind == ast::StmtKind::Function || s->kind == ast::StmtKind::Class) return s.get();
  return nullptr;
}

Value Functions::namedTuple(const json& c) {
  auto made = std::make_shared<AggregateClass>();
  made->name = text(member(c, "name"), "name");
  made->isTuple = true;
  for (const json& field : member(c, "fields")) made->fields.push_back({text(field, "fields")});
  if (auto d = c.find("defaults"); d != c.end())
    for (const auto& [name, v] : d->items()) made->defaults[name] = value(v);
  return std::shared_ptr<const AggregateClass>(made);
}

Value Functions::get(const std::string& id) {
  if (auto it = made_.find(id); it != made_.end()) return it->second;
  const json& f = member(table_, id.c_str());
  std::string kind = f.value("kind", std::string("jit"));
  if (kind == "namedtuple") return made_[id] = namedTuple(f);
  auto file = std::make_shared<SourceFile>();
  file->name = f.value("file", std::string("<kernel>"));
  file->text = text(member(f, "source"), "source");
  file->firstLine = std::max(1u, f.value("line", 1u));
  ModulePtr module = session_.load(file);
  const ast::Stmt* node = definition(module->body);
  if (!node) failRequest("the source of function `" + id + "` has no definition");
  auto it = f.find("globals");
  const json& values = it == f.end() ? emptyObject() : *it;
  Globals* globals = session_.own(std::make_unique<RequestGlobals>(*this, values));
  if (node->kind == ast::StmtKind::Class) return made_[id] = Value(makeClass(module, *node, globals));
  std::map<std::string, Value> defaults;
  if (auto d = f.find("defaults"); d != f.end())
    for (const auto& [name, v] : d->items()) defaults[name] = value(v);
  auto made = std::make_shared<Function>(*makeFunction(module, *node, globals, std::move(defaults)));
  if (kind == "constexpr_function") made->kind = Function::Kind::Constexpr;
  return made_[id] = Value(FunctionPtr(made));
}

Value resolveBuiltin(Session& session, const std::string& name) {
  if (name.starts_with("python."))
    if (const Builtin* b = findPythonBuiltin(name.substr(7))) return b;
  size_t dot = name.rfind('.');
  if (dot != std::string::npos)
    if (std::optional<Value> v = session.ourMember(name.substr(0, dot), name.substr(dot + 1))) return *v;
  return Foreign{"`" + name + "`, which is not a builtin"};
}

Value Functions::value(const json& v) {
  if (!v.is_object() || v.empty()) failRequest("a value of the request is not an object: " + v.dump());
  auto has = [&](const char* key) { return v.contains(key); };
  if (has("none")) return None{};
  if (has("bool")) return v["bool"].get<bool>();
  if (has("int")) return v["int"].is_string() ? integer(v["int"].get<std::string>()) : Int(v["int"].get<int64_t>());
  if (has("float")) return v["float"].is_string() ? real(v["float"].get<std::string>()) : v["float"].get<double>();
  if (has("str")) return text(v["str"], "str");
  if (has("dtype")) return dtype(text(v["dtype"], "dtype"));
  if (has("tuple") || has("list")) {
    auto t = std::make_shared<Tuple>();
    t->isList = has("list");
    for (const json& e : v[t->isList ? "list" : "tuple"]) t->elements.push_back(value(e));
    if (has("names")) t->names = v["names"].get<std::vector<std::string>>();
    return t;
  }
  if (has("module")) return Session::importedModule(text(v["module"], "module"));
  if (has("builtin")) return resolveBuiltin(session_, text(v["builtin"], "builtin"));
  if (has("function")) return get(text(v["function"], "function"));
  if (has("namespace")) {
    auto n = std::make_shared<Namespace>();
    n->name = v.value("name", std::string("namespace"));
    for (const auto& [name, attribute] : v["namespace"].items()) n->attributes[name] = value(attribute);
    return n;
  }
  if (has("math"))
    if (const Builtin* function = findSpecial("math." + text(v["math"], "math"))) return function;
  if (has("foreign"))
    return Foreign{text(v["foreign"], "foreign"), has("host_name") ? hintForHostName(text(v["host_name"], "host_name"))
                                                  : has("hint")    ? text(v["hint"], "hint")
                                                                   : ""};
  return Foreign{"a `" + v.begin().key() + "`"};
}

int32_t divisibility(const KernelArgument& a, const json& given) {
  bool divides = a.kind == KernelArgument::Kind::Runtime && (a.type.isPointer() || a.type.isInt());
  if (!divides) failRequest("`divisibility` is for pointers and integers, but argument `" + a.name + "` is neither");
  int64_t value = given.is_number_integer() ? given.get<int64_t>() : 0;
  if (value < 1 || value > INT32_MAX)
    failRequest("`divisibility` of argument `" + a.name + "` must be a positive 32-bit integer, but is " +
                given.dump());
  return int32_t(value);
}

bool nanPadding(const KernelArgument& descriptor, const std::string& padding) {
  if (padding == "zero") return false;
  if (padding != "nan")
    failRequest("`padding` of descriptor `" + descriptor.name + "` is \"" + padding + "\", not \"zero\" or \"nan\"");
  if (!descriptor.type.isFloat())
    failRequest("`padding` \"nan\" of descriptor `" + descriptor.name + "` is not supported for blocks of `" +
                descriptor.type.name() + "`");
  return true;
}

KernelArgument argument(Functions& functions, const json& a) {
  KernelArgument out;
  out.name = a.value("name", std::string());
  if (a.contains("constexpr")) {
    out.kind = KernelArgument::Kind::Constexpr;
    out.constant = functions.value(a["constexpr"]);
  } else if (a.contains("tuple")) {
    out.kind = KernelArgument::Kind::Tuple;
    for (const json& e : a["tuple"]) out.elements.push_back(argument(functions, e));
    if (a.contains("names")) out.names = a["names"].get<std::vector<std::string>>();
  } else if (a.contains("descriptor")) {
    out.kind = KernelArgument::Kind::Descriptor;
    out.type = dtype(text(member(a["descriptor"], "dtype"), "dtype"));
    out.blockShape = member(a["descriptor"], "block_shape").get<std::vector<int64_t>>();
    out.nanPadding = nanPadding(out, a["descriptor"].value("padding", "zero"));
  } else {
    out.type = dtype(text(member(a, "type"), "type"));
  }
  if (a.contains("divisibility")) out.divisibility = divisibility(out, a["divisibility"]);
  return out;
}

// A launch option that the kernel, not one of its lines, is wrong about.
int launchOption(const json& options, const char* name, int fallback, const Function& kernel, int least = 1) {
  auto it = options.find(name);
  if (it == options.end()) return fallback;
  bool fits = it->is_number_integer() && it->get<int64_t>() >= least && it->get<int64_t>() <= INT32_MAX;
  const char* what = least ? "a positive integer" : "zero or a positive integer";
  if (!fits) failKernel(kernel, std::string("`") + name + "` must be " + what + ", but is " + it->dump());
  return it->get<int>();
}

CompileOptions options(const json& request, const Function& kernel) {
  CompileOptions o;
  auto it = request.find("options");
  if (it == request.end()) return o;
  o.numWarps = launchOption(*it, "num_warps", o.numWarps, kernel);
  o.numStages = std::max(1, launchOption(*it, "num_stages", o.numStages, kernel, 0));  // none are as one: nothing ahead
  o.numCtas = launchOption(*it, "num_ctas", o.numCtas, kernel);
  o.maxRegisters = launchOption(*it, "maxnreg", o.maxRegisters, kernel);
  o.target = it->value("target", o.target);
  o.debug = it->value("debug", o.debug);
  o.assertsNoOverflow = it->value("sanitize_overflow", o.assertsNoOverflow);
  if (o.numWarps > 32 || (o.numWarps & (o.numWarps - 1)))
    failKernel(kernel, "`num_warps` must be a power of two between 1 and 32, but is " + std::to_string(o.numWarps));
  bool isCluster = o.numCtas <= 8 && !(o.numCtas & (o.numCtas - 1));
  if (o.target == "sim" && !isCluster)  // for a GPU its number decides
    failKernel(kernel, "`num_ctas` must be a power of two up to 8, but is " + std::to_string(o.numCtas));
  if (o.maxRegisters > 255) failKernel(kernel, "`maxnreg` must be 1 to 255, but is " + std::to_string(o.maxRegisters));
  return o;
}

SourceFilePtr fileOf(const json& given) {
  auto file = std::make_shared<SourceFile>();
  file->name = text(member(given, "file"), "file");
  file->text = text(member(given, "source"), "source");
  return file;
}

Value kernelValue(Session& session, Functions& functions, const json& request, const std::string& kernel) {
  auto module = request.find("module");
  if (module == request.end()) return functions.get(kernel);
  if (auto imports = request.find("imports"); imports != request.end())
    for (const auto& [name, imported] : imports->items()) session.addImport(name, fileOf(imported));
  FunctionPtr f = session.loadModule(fileOf(*module))->function(kernel);
  return f ? Value(f) : Value(None{});
}

}  // namespace

KernelRequest readRequest(Session& session, const json& request) {
  try {
    auto it = request.find("functions");
    Functions& functions =
        session.own(std::make_unique<FunctionTable>(session, it == request.end() ? emptyObject() : *it))->functions;
    KernelRequest out;
    std::string kernel = text(member(request, "kernel"), "kernel");
    Value v = kernelValue(session, functions, request, kernel);
    if (!v.is<FunctionPtr>()) failRequest("`" + kernel + "` is not a function");
    out.kernel = v.as<FunctionPtr>();
    out.options = options(request, *out.kernel);
    for (const json& a : member(request, "arguments")) out.arguments.push_back(argument(functions, a));
    if (auto pairs = request.find("overlapping"); pairs != request.end()) out.overlapping.emplace() = *pairs;
    return out;
  } catch (const json::exception& error) {
    failRequest(std::string("the request is not well formed: ") + error.what());
  }
}

}  // namespace tandem::frontend
