// The enums of the dialect `simt`: one C++ enum each. The word is what the text of an op shows.
#ifndef TANDEM_SIMT_ENUMS
#define TANDEM_SIMT_ENUMS
include "mlir/IR/EnumAttr.td"

def Simt_Shuffle : I32EnumAttr<"Shuffle", "which lane a shuffle reads", [
  I32EnumAttrCase<"Idx", 0, "idx">, I32EnumAttrCase<"Up", 1, "up">, I32EnumAttrCase<"Down", 2, "down">, I32EnumAttrCase<"Xor", 3, "xor">]> {
  let cppNamespace = "::tandem::simt";
  let genSpecializedAttr = 0;
}
def Simt_Special : I32EnumAttr<"Special", "a special register", [
  I32EnumAttrCase<"SmId", 0, "smid">, I32EnumAttrCase<"GlobalTimer", 1, "globaltimer">, I32EnumAttrCase<"Clock", 2, "clock">]> {
  let cppNamespace = "::tandem::simt";
  let genSpecializedAttr = 0;
}
#endif
