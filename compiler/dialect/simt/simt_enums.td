// The enums of the dialect `simt`: one C++ enum each. The word stands in the text of an op.
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
def Simt_MapField : I32EnumAttr<"MapField", "a field of a tensor map", [
  I32EnumAttrCase<"GlobalAddress", 0, "global_address">, I32EnumAttrCase<"Rank", 1, "rank">, I32EnumAttrCase<"BoxDim", 2, "box_dim">,
  I32EnumAttrCase<"GlobalDim", 3, "global_dim">, I32EnumAttrCase<"GlobalStride", 4, "global_stride">,
  I32EnumAttrCase<"ElementStride", 5, "element_stride">, I32EnumAttrCase<"ElemType", 6, "elemtype">,
  I32EnumAttrCase<"Interleave", 7, "interleave_layout">, I32EnumAttrCase<"Swizzle", 8, "swizzle_mode">,
  I32EnumAttrCase<"Fill", 9, "fill_mode">]> {
  let cppNamespace = "::tandem::simt";
  let genSpecializedAttr = 0;
}
def Simt_ProxyFence : I32EnumAttr<"ProxyFence", "accesses that a proxy fence orders against those of bulk copies", [
  I32EnumAttrCase<"Async", 0, "async">, I32EnumAttrCase<"AsyncShared", 1, "async_shared">,
  I32EnumAttrCase<"MbarrierInit", 2, "mbarrier_init">, I32EnumAttrCase<"TensormapAcquire", 3, "tensormap_acquire">]> {
  let cppNamespace = "::tandem::simt";
  let genSpecializedAttr = 0;
}
#endif
