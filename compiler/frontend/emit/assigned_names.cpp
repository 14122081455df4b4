// One walk over expressions and statements with a callback for each, and the questions asked through it.
#include "compiler/frontend/emit/assigned_names.h"
#include <algorithm>
#include <functional>

namespace tandem::frontend {
namespace {
using ast::Expr;
using ast::ExprKind;
using ast::Stmt;
using ast::StmtKind;

using OnExpr = std::function<void(const Expr&)>;
using OnStmt = std::function<void(const Stmt&)>;

void walk(const Expr& e, const OnExpr& onExpr) {
  onExpr(e);
  for (const ast::ExprPtr& c : e.children)
    if (c) walk(*c, onExpr);
  for (const ast::Keyword& k : e.keywords) walk(*k.value, onExpr);
  for (const ast::ForClause& c : e.clauses) {
    walk(*c.iterable, onExpr);
    for (const ast::ExprPtr& condition : c.conditions) walk(*condition, onExpr);
  }
}

void walk(const Stmt& s, const OnStmt& onStmt, const OnExpr& onExpr) {
  onStmt(s);
  if (s.kind == StmtKind::Function || s.kind == StmtKind::Class) return;
  for (const ast::ExprPtr& e : s.exprs) walk(*e, onExpr);
  for (const ast::WithItem& i : s.items) walk(*i.context, onExpr);
  for (const ast::StmtPtr& b : s.body) walk(*b, onStmt, onExpr);
  for (const ast::StmtPtr& b : s.orElse) walk(*b, onStmt, onExpr);
}

void addTarget(const Expr& target, std::set<std::string>& out) {
  switch (target.kind) {
    case ExprKind::Name: out.insert(target.text); return;
    case ExprKind::Attribute: return addTarget(*target.children[0], out);
    case ExprKind::Tuple:
    case ExprKind::List:
    case ExprKind::Starred:
      for (const ast::ExprPtr& c : target.children) addTarget(*c, out);
      return;
    default: return;
  }
}

void addTargets(const Stmt& s, std::set<std::string>& out) {
  switch (s.kind) {
    case StmtKind::Assign:
      for (size_t i = 1; i < s.exprs.size(); ++i) addTarget(*s.exprs[i], out);
      return;
    case StmtKind::AugAssign:
    case StmtKind::For: return addTarget(*s.exprs[0], out);
    case StmtKind::AnnAssign:
      if (s.exprs.size() == 3) addTarget(*s.exprs[0], out);
      return;
    case StmtKind::With:
      for (const ast::WithItem& i : s.items)
        if (i.target) addTarget(*i.target, out);
      return;
    default: return;
  }
}

// Targets of element assignments: `n[i] = v`, also inside tuples.
void addElementTarget(const Expr& target, std::set<std::string>& out) {
  if (target.kind == ExprKind::Tuple || target.kind == ExprKind::List)
    for (const ast::ExprPtr& c : target.children) addElementTarget(*c, out);
  if (target.kind != ExprKind::Subscript || target.children[0]->kind != ExprKind::Name) return;
  if (isElementIndex(*target.children[1])) out.insert(target.children[0]->text);
}

}  // namespace

std::set<std::string> assignedNames(const Stmt& s) {
  std::set<std::string> out;
  // A tile whose elements a region writes is another value after the region.
  auto onStmt = [&](const Stmt& inner) {
    addTargets(inner, out);
    if (inner.kind == StmtKind::With) out.merge(elementAccesses(inner.body).written);
  };
  walk(s, onStmt, [&](const Expr& e) {
    if (e.kind == ExprKind::Walrus) addTarget(*e.children[0], out);
  });
  return out;
}

std::set<std::string> mentionedNames(const Stmt& s) {
  std::set<std::string> out;
  walk(
      s, [](const Stmt&) {},
      [&](const Expr& e) {
        if (e.kind == ExprKind::Name) out.insert(e.text);
      });
  return out;
}

bool containsReturn(const ast::Body& body) {
  bool found = false;
  for (const ast::StmtPtr& s : body)
    walk(*s, [&](const Stmt& inner) { found |= inner.kind == StmtKind::Return; }, [](const Expr&) {});
  return found;
}

bool containsContinue(const ast::Body& body) {
  return std::any_of(body.begin(), body.end(), [](const ast::StmtPtr& s) {
    if (s->kind == StmtKind::Continue) return true;
    return s->kind == StmtKind::If && (containsContinue(s->body) || containsContinue(s->orElse));
  });
}

bool isElementIndex(const Expr& index) {
  if (index.kind == ExprKind::Tuple)
    return std::all_of(index.children.begin(), index.children.end(),
                       [](const ast::ExprPtr& c) { return isElementIndex(*c); });
  return index.kind != ExprKind::Slice && index.kind != ExprKind::None && index.kind != ExprKind::Ellipsis;
}

ElementAccesses elementAccesses(const ast::Body& body) {
  ElementAccesses out;
  auto onStmt = [&](const Stmt& s) {
    if (s.kind == StmtKind::Assign)
      for (size_t i = 1; i < s.exprs.size(); ++i) addElementTarget(*s.exprs[i], out.written);
    if (s.kind == StmtKind::AugAssign) addElementTarget(*s.exprs[0], out.written);
  };
  auto onExpr = [&](const Expr& e) {
    if (e.kind == ExprKind::Subscript) addElementTarget(e, out.accessed);
  };
  for (const ast::StmtPtr& s : body) walk(*s, onStmt, onExpr);
  return out;
}

}  // namespace tandem::frontend
