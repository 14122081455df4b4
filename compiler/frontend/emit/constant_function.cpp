// Loops of functions evaluated at compile time: they run as Python would run them.
#include "compiler/frontend/emit/emitter.h"

namespace tandem::frontend {

Flow Emitter::emitConstantFor(const ast::Stmt& s) {
  for (const Value& v : constantElements(evaluate(*s.exprs[1]), s.exprs[1]->range)) {
    assign(*s.exprs[0], v);
    Flow flow = emitBody(s.body, 0, nullptr);
    if (flow == Flow::Returned) return flow;
    if (flow == Flow::Broke) return Flow::Falls;
  }
  return emitBody(s.orElse, 0, nullptr);
}

Flow Emitter::emitConstantWhile(const ast::Stmt& s) {
  while (true) {
    spend();
    Value test = evaluate(*s.exprs[0]);
    if (test.isTensor())
      cx.failAt(s.exprs[0]->range, "constexpr-needed",
                "a function of compile time needs a constant, but got " + describe(test));
    if (!semantic::truth(cx, test)) return emitBody(s.orElse, 0, nullptr);
    Flow flow = emitBody(s.body, 0, nullptr);
    if (flow == Flow::Returned) return flow;
    if (flow == Flow::Broke) return Flow::Falls;
  }
}

}  // namespace tandem::frontend
