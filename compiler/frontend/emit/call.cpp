// Calls: functions with source are inlined, builtins go to the table, classes make aggregates.
#include "compiler/frontend/emit/emitter.h"
#include <llvm/Support/SaveAndRestore.h>

namespace tandem::frontend {
using ast::Expr;
using ast::ExprKind;

// Makes a frame the current one, with its place in the chain of calls.
class Emitter::Entered {
 public:
  Entered(Emitter& e, Frame& frame) : emitter_(e), frame_(e.frame_), place_(e.cx.place), keywords_(e.cx.keywords) {
    frame.caller = frame_;
    e.frame_ = &frame;
    e.cx.keywords = nullptr;
    if (!frame.function) return;
    e.cx.place = {frame.function->file(), frame.function->range(), frame.function->name, &place_};
  }
  ~Entered() {
    emitter_.frame_ = frame_;
    emitter_.cx.place = place_;
    emitter_.cx.keywords = keywords_;
  }
  Entered(const Entered&) = delete;

 private:
  Emitter& emitter_;
  Frame* frame_;
  Context::Place place_;
  const std::vector<ast::Keyword>* keywords_;
};

Emitter::Emitter(Context& context, Session& session) : cx(context), session_(session) {
  cx.call = [this](const Value& callee, const Positional& positional, const Keywords& keywords) {
    return call(callee, positional, keywords);
  };
  session_.evaluate = [this](const ModulePtr& module, Globals* globals, const Expr& e) {
    // Host code may call anything; the ops that this makes are thrown away.
    mlir::Block scratch;
    mlir::OpBuilder::InsertionGuard guard(cx.builder);
    cx.builder.setInsertionPointToStart(&scratch);
    Frame frame;
    frame.globals = globals;
    frame.module = module;
    frame.constant = true;
    Entered entered(*this, frame);
    cx.place = {module->file, e.range, "", nullptr};
    Value v = evaluate(e);
    if (containsTensor(v)) cx.failConstexpr(cx.place.range, "a constant is needed here, but got " + describe(v), v);
    return v;
  };
}

Value Emitter::callExpression(const Expr& e) {
  Value callee = evaluate(*e.children[0]);
  Positional positional;
  for (size_t i = 1; i < e.children.size(); ++i) {
    const Expr& argument = *e.children[i];
    if (argument.kind == ExprKind::Starred) {
      for (Value& v : constantElements(evaluate(*argument.children[0]), argument.range))
        positional.push_back(std::move(v));
    } else {
      positional.push_back(evaluate(argument));
    }
  }
  Keywords keywords;
  for (const ast::Keyword& k : e.keywords) {
    if (k.name.empty()) failUnsupported(k.range, "`**` in a call");
    if (!keywords.emplace(k.name, evaluate(*k.value)).second)
      cx.failAt(k.range, "argument-count", "keyword argument `" + k.name + "` is given twice");
  }
  llvm::SaveAndRestore written(cx.keywords, &e.keywords);
  return call(callee, positional, keywords);
}

Value Emitter::call(const Value& callee, const Positional& positional, const Keywords& keywords) {
  spend();
  if (callee.is<FunctionPtr>()) return callFunction(*callee.as<FunctionPtr>(), positional, keywords);
  if (callee.is<BoundMethod>()) return callMethod(callee.as<BoundMethod>(), positional, keywords);
  if (callee.is<std::shared_ptr<const AggregateClass>>())
    return construct(callee.as<std::shared_ptr<const AggregateClass>>(), positional, keywords);
  if (callee.is<DType>()) {
    if (positional.size() != 1 || !keywords.empty())
      cx.fail("argument-count", "a dtype takes 1 argument, but got " + std::to_string(positional.size()));
    return semantic::cast(cx, semantic::toTensor(cx, positional[0]), callee.as<DType>());
  }
  if (!callee.is<const Builtin*>()) cx.fail("not-callable", describe(callee) + " cannot be called");
  const Builtin& b = *callee.as<const Builtin*>();
  if (b.name.starts_with("python.") || findSpecial(b.name)) return callPython(b.name, positional, keywords);
  return b.emit(cx, bind(cx, b, positional, keywords));
}

// Every call is inlined, so a function may call itself only as often as constants say.
void Emitter::limitDepth(const Function& f) {
  constexpr int kMaxDepth = 100;
  int depth = 0;
  bool isRecursive = false;
  Context::Place outermost = cx.place;  // of the calls inside of `f`
  const Context::Place* place = &cx.place;
  for (const Frame* at = frame_; at; at = at->caller, place = place ? place->caller : nullptr, ++depth) {
    if (!at->function || (f.node ? at->function->node != f.node : at->function != &f)) continue;
    isRecursive = true;
    if (place) outermost = *place;
  }
  if (depth <= kMaxDepth) return;
  std::string limit = std::to_string(kMaxDepth);
  if (!isRecursive) cx.fail("recursion", "calls are nested more than " + limit + " deep at `" + f.name + "`");
  llvm::SaveAndRestore blamed(cx.place, outermost);
  cx.fail("recursion", "`" + f.name + "` calls itself more than " + limit +
                           " deep; conditions known when the kernel is compiled must end it sooner");
}

Value Emitter::callFunction(const Function& f, const Positional& positional, const Keywords& keywords,
                            bool keepsNumbers) {
  limitDepth(f);
  Frame frame;
  frame.function = &f;
  frame.globals = f.globals;
  frame.module = f.module;
  frame.constant = f.kind == Function::Kind::Constexpr;
  frame.keepsNumbers = keepsNumbers;
  if (f.kind == Function::Kind::Lambda) frame.locals = f.captured;
  bindParameters(frame, positional, keywords);
  Entered entered(*this, frame);
  if (f.lambda) return evaluate(*f.lambda->children[0]);
  emitBody(f.node->body, 0, nullptr);
  return frame.returned;
}

void Emitter::emitKernel(const Function& kernel, const std::map<std::string, Value>& arguments) {
  Frame frame;
  frame.function = &kernel;
  frame.globals = kernel.globals;
  frame.module = kernel.module;
  Entered entered(*this, frame);
  cx.place.caller = nullptr;
  for (const ast::Parameter& p : kernel.parameters()) {
    auto it = arguments.find(p.name);
    At at(*this, p.range);
    Value v = it != arguments.end() ? it->second : defaultOf(kernel, p);
    checkConstexprParameter(kernel, p, v);
    frame.locals[p.name] = {v, p.range, isConstexprAnnotation(p.annotation), false};
  }
  emitBody(kernel.node->body, 0, nullptr);
}

// A named tuple: its elements are the arguments, as those of any tuple.
Value Emitter::constructTuple(const AggregateClass& type, const Positional& positional, const Keywords& keywords) {
  auto tuple = std::make_shared<Tuple>();
  if (positional.size() > type.fields.size())
    cx.fail("argument-count", "`" + type.name + "` has " + std::to_string(type.fields.size()) + " fields, but got " +
                                  std::to_string(positional.size()) + " arguments");
  for (const auto& [name, value] : keywords) {
    const AggregateClass::Field* field = type.findField(name);
    if (!field) cx.fail("unknown-argument", "`" + type.name + "` has no field `" + name + "`");
    if (size_t(field - type.fields.data()) < positional.size())
      cx.fail("argument-count", "field `" + name + "` of `" + type.name + "` is given twice");
  }
  for (const AggregateClass::Field& field : type.fields) {
    size_t index = tuple->elements.size();
    auto keyword = keywords.find(field.name);
    tuple->names.push_back(field.name);
    if (index < positional.size())
      tuple->elements.push_back(positional[index]);
    else if (keyword != keywords.end())
      tuple->elements.push_back(keyword->second);
    else if (auto given = type.defaults.find(field.name); given != type.defaults.end())
      tuple->elements.push_back(given->second);
    else if (auto written = type.constants.find(field.name); written != type.constants.end())
      tuple->elements.push_back(session_.evaluate(type.module, type.globals, *written->second));
    else
      cx.fail("missing-argument", "field `" + field.name + "` of `" + type.name + "` is missing");
  }
  return tuple;
}

Value Emitter::construct(const std::shared_ptr<const AggregateClass>& type, const Positional& positional,
                         const Keywords& keywords) {
  if (type->isTuple) return constructTuple(*type, positional, keywords);
  auto object = std::make_shared<Aggregate>();
  object->type = type;
  if (auto init = type->methods.find("__init__"); init != type->methods.end()) {
    Positional withSelf = {object};
    withSelf.insert(withSelf.end(), positional.begin(), positional.end());
    callFunction(*init->second, withSelf, keywords, true);
  } else {
    if (positional.size() > type->fields.size())
      cx.fail("argument-count", "`" + type->name + "` has " + std::to_string(type->fields.size()) +
                                    " fields, but got " + std::to_string(positional.size()) + " arguments");
    for (size_t i = 0; i < positional.size(); ++i)
      object->fields[type->fields[i].name] = type->fields[i].isConstexpr ? positional[i] : decay(positional[i]);
    for (const auto& [name, v] : keywords) {
      const AggregateClass::Field* field = type->findField(name);
      if (!field || object->fields.contains(name))
        cx.fail("unknown-argument", "`" + type->name + "` has no free field `" + name + "`");
      object->fields[name] = field->isConstexpr ? v : decay(v);
    }
  }
  for (const AggregateClass::Field& field : type->fields)
    if (!object->fields.contains(field.name))
      cx.fail("missing-argument", "field `" + field.name + "` of `" + type->name + "` is not assigned");
  return object;
}

}  // namespace tandem::frontend
