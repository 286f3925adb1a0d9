#include "leeway/types.h"

namespace leeway {
inline namespace v0 {

int BitsPerElement(DType dtype) {
  switch (dtype) {
    case DType::kF64:
    case DType::kInt64:
    case DType::kUint64:
    case DType::kC64:
      return 64;
    case DType::kF32:
    case DType::kInt32:
    case DType::kUint32:
    case DType::kTf32:
      return 32;
    case DType::kF16:
    case DType::kBf16:
    case DType::kInt16:
    case DType::kUint16:
      return 16;
    case DType::kF8E4M3:
    case DType::kF8E5M2:
    case DType::kInt8:
    case DType::kUint8:
    case DType::kBool:
    case DType::kF8E8M0:
    case DType::kF8E4M3Fnuz:
    case DType::kF8E5M2Fnuz:
      return 8;
    case DType::kF4E2M1:
    case DType::kInt4:
    case DType::kUint4:
      return 4;
  }
  return 8;
}

const char* DTypeName(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return "F64";
    case DType::kF32:
      return "F32";
    case DType::kF16:
      return "F16";
    case DType::kBf16:
      return "BF16";
    case DType::kF8E4M3:
      return "F8E4M3";
    case DType::kF8E5M2:
      return "F8E5M2";
    case DType::kF4E2M1:
      return "F4E2M1";
    case DType::kInt64:
      return "I64";
    case DType::kInt32:
      return "I32";
    case DType::kInt16:
      return "I16";
    case DType::kInt8:
      return "I8";
    case DType::kInt4:
      return "I4";
    case DType::kUint8:
      return "U8";
    case DType::kUint4:
      return "U4";
    case DType::kBool:
      return "BOOL";
    case DType::kF8E8M0:
      return "F8E8M0";
    case DType::kF8E4M3Fnuz:
      return "F8E4M3FNUZ";
    case DType::kF8E5M2Fnuz:
      return "F8E5M2FNUZ";
    case DType::kTf32:
      return "TF32";
    case DType::kUint16:
      return "U16";
    case DType::kUint32:
      return "U32";
    case DType::kUint64:
      return "U64";
    case DType::kC64:
      return "C64";
  }
  return "?";
}

}  // namespace v0
}  // namespace leeway
