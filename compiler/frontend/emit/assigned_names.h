// Questions about a piece of syntax tree that control flow needs answered before it is emitted.
#pragma once
#include "compiler/frontend/ast/ast.h"
#include <set>
#include <string>

namespace tandem::frontend {

// Names that the statement may rebind: assignments, loop and `with` targets, walrus, `name.field = ...`.
std::set<std::string> assignedNames(const ast::Stmt& s);
// Every name that the statement mentions.
std::set<std::string> mentionedNames(const ast::Stmt& s);
bool containsReturn(const ast::Body& body);
// Returns true if a `continue` of the loop that `body` stands in is there: those of loops inside are their own.
bool containsContinue(const ast::Body& body);
// Names `n` in `n[scalar]` and, of those, in `n[scalar] = ...`.
struct ElementAccesses {
  std::set<std::string> accessed, written;
};
ElementAccesses elementAccesses(const ast::Body& body);
// Returns true if an index names one element: no slice, no `None`, no `...`.
bool isElementIndex(const ast::Expr& index);

}  // namespace tandem::frontend
