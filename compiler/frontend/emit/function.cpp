// This file reads the declarations of a `def` or an aggregate `class`. It does not look into bodies of functions.
#include "compiler/frontend/emit/function.h"

namespace tandem::frontend {

const AggregateClass::Field* AggregateClass::findField(const std::string& fieldName) const {
  for (const Field& f : fields)
    if (f.name == fieldName) return &f;
  return nullptr;
}

bool isConstexprAnnotation(const ast::ExprPtr& annotation) {
  if (!annotation) return false;
  switch (annotation->kind) {
    case ast::ExprKind::Name:
    case ast::ExprKind::Attribute: return annotation->text == "constexpr";
    case ast::ExprKind::String: return annotation->text.ends_with("constexpr");
    case ast::ExprKind::Subscript: return isConstexprAnnotation(annotation->children[0]);
    default: return false;
  }
}

bool isConstAnnotation(const ast::ExprPtr& annotation) {
  if (!annotation) return false;
  switch (annotation->kind) {
    case ast::ExprKind::Name:
    case ast::ExprKind::Attribute: return annotation->text == "const";
    case ast::ExprKind::String: {
      const std::string& text = annotation->text;
      return text.starts_with("*k") ||
             (text.find("const") != std::string::npos && text.find("constexpr") == std::string::npos);
    }
    default: return false;
  }
}

std::string decoratorWord(const ast::Expr& decorator) {
  if (decorator.kind == ast::ExprKind::Call) return decoratorWord(*decorator.children[0]);
  bool named = decorator.kind == ast::ExprKind::Name || decorator.kind == ast::ExprKind::Attribute;
  return named ? decorator.text : "";
}

bool hasDecorator(const ast::Stmt& definition, std::string_view word) {
  for (const ast::ExprPtr& d : definition.decorators)
    if (decoratorWord(*d) == word) return true;
  return false;
}

FunctionPtr makeFunction(ModulePtr module, const ast::Stmt& def, Globals* globals,
                         std::map<std::string, Value> defaults) {
  auto f = std::make_shared<Function>();
  f->name = def.text;
  f->kind = hasDecorator(def, "constexpr_function") || hasDecorator(def, "constexpr") ? Function::Kind::Constexpr
                                                                                      : Function::Kind::Jit;
  f->isStatic = hasDecorator(def, "staticmethod");
  f->module = std::move(module);
  f->node = &def;
  f->globals = globals;
  f->defaults = std::move(defaults);
  return f;
}

bool isNamedTuple(const ast::Stmt& node) {
  for (const ast::ExprPtr& base : node.exprs)
    if (decoratorWord(*base) == "NamedTuple") return true;
  return false;
}

std::shared_ptr<const AggregateClass> makeClass(ModulePtr module, const ast::Stmt& node, Globals* globals) {
  auto c = std::make_shared<AggregateClass>();
  c->name = node.text;
  c->module = module;
  c->globals = globals;
  c->isTuple = isNamedTuple(node);
  for (const ast::StmtPtr& s : node.body) {
    bool named = !s->exprs.empty();
    if (s->kind == ast::StmtKind::AnnAssign && s->exprs[0]->kind == ast::ExprKind::Name) {
      c->fields.push_back({s->exprs[0]->text, isConstexprAnnotation(s->exprs[1])});
      if (c->isTuple && s->exprs.size() == 3) c->constants[s->exprs[0]->text] = s->exprs[2].get();
    } else if (s->kind == ast::StmtKind::Function) {
      c->methods[s->text] = makeFunction(module, *s, globals);
    } else if (s->kind == ast::StmtKind::Assign && named && s->exprs.size() == 2 &&
               s->exprs[1]->kind == ast::ExprKind::Name) {
      c->constants[s->exprs[1]->text] = s->exprs[0].get();
    }
  }
  return c;
}

}  // namespace tandem::frontend
