// The enums of the dialect `tgpu`.
#ifndef TANDEM_TGPU_ENUMS
#define TANDEM_TGPU_ENUMS
include "mlir/IR/EnumAttr.td"
#endif
