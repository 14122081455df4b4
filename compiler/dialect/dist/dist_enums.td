// The enums of the dialect `dist`: one C++ enum each. The word stands in the text of an op.
#ifndef TANDEM_DIST_ENUMS
#define TANDEM_DIST_ENUMS
include "mlir/IR/EnumAttr.td"

class Dist_Enum<string cppName, string what, list<I32EnumAttrCase> cases> : I32EnumAttr<cppName, what, cases> {
  let cppNamespace = "::tandem::dist";
  let genSpecializedAttr = 0;
}
def Dist_Group : Dist_Enum<"Group", "the threads that make one call together", [
  I32EnumAttrCase<"Thread", 0, "thread">, I32EnumAttrCase<"Warp", 1, "warp">, I32EnumAttrCase<"Block", 2, "block">]>;
// The rows of include/tandem/compare.h: compare.h, which converts by name, does not build with others.
def Dist_Compare : Dist_Enum<"Compare", "comparison of a signal with a value", [
  I32EnumAttrCase<"Eq", 0, "eq">, I32EnumAttrCase<"Ne", 1, "ne">, I32EnumAttrCase<"Gt", 2, "gt">,
  I32EnumAttrCase<"Le", 3, "le">, I32EnumAttrCase<"Lt", 4, "lt">, I32EnumAttrCase<"Ge", 5, "ge">]>;
def Dist_SignalKind : Dist_Enum<"SignalKind", "how a signal changes", [
  I32EnumAttrCase<"Set", 0, "set">, I32EnumAttrCase<"Add", 1, "add">]>;
def Dist_CommScope : Dist_Enum<"CommScope", "where the readers of a signal are", [
  I32EnumAttrCase<"Gpu", 0, "gpu">, I32EnumAttrCase<"IntraNode", 1, "intra_node">, I32EnumAttrCase<"InterNode", 2, "inter_node">]>;
#endif
