// This file has signatures and the binding of calls to them. It knows nothing of a builtin's meaning.
#include "compiler/frontend/builtin/arguments.h"
#include "compiler/frontend/parse/parse.h"
#include "compiler/frontend/semantic/spelling.h"
#include <cstdlib>
#include <mutex>
#include <unordered_map>

namespace tandem::frontend {
namespace builtin {

static Int parseInteger(const std::string& digits) { return std::strtoull(digits.c_str(), nullptr, 0); }

// Defaults are literals or the names of constants of `tl`.
static Value evaluate(const ast::Expr& e) {
  switch (e.kind) {
    case ast::ExprKind::None: return None{};
    case ast::ExprKind::Bool: return e.boolean;
    case ast::ExprKind::Int: return parseInteger(e.text);
    case ast::ExprKind::Float: return e.number;
    case ast::ExprKind::String: return e.text;
    case ast::ExprKind::Unary: return -evaluate(*e.children[0]).as<Int>();
    case ast::ExprKind::Tuple: {
      std::vector<Value> elements;
      for (const auto& child : e.children) elements.push_back(evaluate(*child));
      return makeTuple(std::move(elements));
    }
    case ast::ExprKind::Attribute: return *findConstant("tl." + e.children[0]->text + "." + e.text);
    default: return *findConstant("tl." + e.text);
  }
}

static Signature read(const Builtin& builtin) {
  auto file = std::make_shared<SourceFile>();
  file->name = "<signature of " + builtin.name + ">";
  file->text = "def f(" + builtin.signature + "):\n  pass\n";
  ast::Module module = parse(file);
  Signature signature;
  for (const ast::Parameter& p : module.body.front()->parameters) {
    if (p.kind == ast::Parameter::Kind::VarPositional) {
      signature.takesRest |= !p.name.empty();
    } else if (p.kind == ast::Parameter::Kind::VarKeyword) {
      signature.takesKeywords = true;
    } else {
      std::optional<Value> fallback;
      if (p.defaultValue) fallback = evaluate(*p.defaultValue);
      signature.parameters.push_back({p.name, std::move(fallback), p.kind == ast::Parameter::Kind::KeywordOnly});
    }
  }
  return signature;
}

const Signature& signatureOf(const Builtin& builtin) {
  static std::mutex mutex;
  static std::unordered_map<const Builtin*, Signature> cache;
  {
    std::lock_guard lock(mutex);
    if (auto found = cache.find(&builtin); found != cache.end()) return found->second;
  }
  Signature signature = read(builtin);
  std::lock_guard lock(mutex);
  return cache.try_emplace(&builtin, std::move(signature)).first->second;
}

static std::string shown(const Builtin& builtin) {
  return " (its signature is `" + builtin.name + "(" + builtin.signature + ")`)";
}

static size_t positionalCount(const Signature& signature) {
  size_t count = 0;
  while (count < signature.parameters.size() && !signature.parameters[count].keywordOnly) ++count;
  return count;
}

static void bindPositional(Context& c, const Builtin& b, const Signature& s, const std::vector<Value>& given,
                           Arguments& bound) {
  size_t count = positionalCount(s);
  if (given.size() > count && !s.takesRest)
    c.fail("argument-count", "`" + b.name + "` takes at most " + std::to_string(count) + " positional arguments but " +
                                 std::to_string(given.size()) + " were given" + shown(b));
  for (size_t i = 0; i < given.size(); ++i) {
    if (i < count)
      bound.values_[s.parameters[i].name] = given[i];
    else
      bound.rest_.push_back(given[i]);
  }
}

static void bindKeyword(Context& c, const Builtin& b, const Signature& s, const std::string& name, const Value& value,
                        Arguments& bound) {
  // Triton's own functions hand the compiler's state on by this name; kernels that define such functions do too.
  if (name == "_semantic" || name == "_builder") return;
  for (const Parameter& p : s.parameters) {
    if (p.name != name) continue;
    if (!bound.values_.emplace(name, value).second)
      c.fail("argument-count", "`" + b.name + "` has two values for parameter `" + name + "`" + shown(b));
    return;
  }
  if (s.takesKeywords) return;
  std::vector<std::string> known;
  for (const Parameter& p : s.parameters) known.push_back(p.name);
  c.failAt(c.keywordRange(name), "unknown-argument", "`" + b.name + "` has no parameter `" + name + "`" + shown(b),
           didYouMean(closestName(name, known)));
}

}  // namespace builtin

Arguments bind(Context& c, const Builtin& b, const std::vector<Value>& positional,
               const std::map<std::string, Value>& keywords) {
  const builtin::Signature& signature = builtin::signatureOf(b);
  Arguments bound;
  builtin::bindPositional(c, b, signature, positional, bound);
  for (const auto& [name, value] : keywords) builtin::bindKeyword(c, b, signature, name, value, bound);
  for (const builtin::Parameter& p : signature.parameters) {
    if (bound.values_.contains(p.name)) continue;
    if (!p.fallback)
      c.fail("missing-argument", "`" + b.name + "` needs a value for parameter `" + p.name + "`" + builtin::shown(b));
    bound.values_[p.name] = *p.fallback;
  }
  return bound;
}

const Value& Arguments::operator[](std::string_view parameter) const {
  auto found = values_.find(std::string(parameter));
  if (found == values_.end()) std::abort();
  return found->second;
}

}  // namespace tandem::frontend
