// Binds the arguments of a call to the parameters of a function by Python's rules.
#include "compiler/frontend/emit/emitter.h"
#include "compiler/frontend/semantic/spelling.h"

namespace tandem::frontend {
using ast::Parameter;
using Kind = ast::Parameter::Kind;

void Emitter::checkConstexprParameter(const Function& f, const Parameter& p, const Value& v) {
  if (!isConstexprAnnotation(p.annotation) || !containsTensor(v)) return;
  cx.failConstexpr(cx.place.range,
                   "parameter `" + p.name + "` of `" + f.name + "` needs a constant, but got " + describe(v), v);
}

Value Emitter::defaultOf(const Function& f, const Parameter& p) {
  if (auto it = f.defaults.find(p.name); it != f.defaults.end()) return it->second;
  if (p.defaultValue) return session_.evaluate(f.module, f.globals, *p.defaultValue);
  cx.fail("missing-argument", "argument `" + p.name + "` of `" + f.name + "` is missing");
}

// Triton's own functions take a parameter `_semantic`, their compiler's state. This one holds the target and options of
// the kernel.
static Value semanticOf(const Context& cx) {
  auto holds = [](const char* name, std::map<std::string, Value> attributes) {
    auto made = std::make_shared<Namespace>();
    made->name = name;
    made->attributes = std::move(attributes);
    return made;
  };
  auto options = holds("_semantic.builder.options",
                       {{"backend_name", std::string("cuda")}, {"num_warps", Int(cx.options.numWarps)}});
  return holds("_semantic", {{"builder", holds("_semantic.builder", {{"options", options}})}});
}

void Emitter::bindParameters(Frame& frame, const Positional& positional, const Keywords& keywords) {
  const Function& f = *frame.function;
  size_t next = 0, used = 0, accepted = 0;
  bool collects = false;
  for (const Parameter& p : f.parameters()) {
    Value v = None{};
    auto keyword = keywords.find(p.name);
    if (p.kind == Kind::VarKeyword) failUnsupported(cx.place.range, "`**" + p.name + "`");
    if (p.kind == Kind::VarPositional) {
      collects = true;
      v = makeTuple(Positional(positional.begin() + ptrdiff_t(std::min(next, positional.size())), positional.end()));
      next = positional.size();
    } else if (p.kind == Kind::Positional && next < positional.size()) {
      if (keyword != keywords.end())
        cx.fail("argument-count", "argument `" + p.name + "` of `" + f.name + "` is given twice");
      v = positional[next++];
    } else if (keyword != keywords.end()) {
      v = keyword->second;
      ++used;
    } else {
      v = p.name == "_semantic" ? semanticOf(cx) : defaultOf(f, p);
    }
    accepted += p.kind == Kind::Positional;
    frame.locals[p.name] = {v, p.range, isConstexprAnnotation(p.annotation), false};
  }
  if (next < positional.size() && !collects)
    cx.fail("argument-count", "`" + f.name + "` takes " + std::to_string(accepted) + " positional arguments, but got " +
                                  std::to_string(positional.size()));
  if (used == keywords.size()) return;
  for (const auto& [name, v] : keywords) {
    bool known = false;
    std::vector<std::string> candidates;
    for (const Parameter& p : f.parameters()) {
      known |= p.name == name && p.kind != Kind::VarPositional;
      candidates.push_back(p.name);
    }
    // Triton passes launch options such as `num_warps` through calls; they mean nothing to an inlined function.
    if (!known && name != "num_warps" && name != "num_stages")
      cx.failAt(cx.keywordRange(name), "unknown-argument", "`" + f.name + "` has no parameter `" + name + "`",
                didYouMean(closestName(name, candidates)));
  }
}

}  // namespace tandem::frontend
