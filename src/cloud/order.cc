#include "cloud/order.h"

#include <cctype>

namespace coppice::cloud {

bool MayHaveHappened(Code code) {
  switch (code) {
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kPermissionDenied:
    case Code::kResourceExhausted:
    case Code::kFailedPrecondition:
    case Code::kOutOfRange:
    case Code::kUnimplemented:
    case Code::kUnauthenticated:
      return false;
    default:
      // AlreadyExists too: the name is ours alone, so what exists is our first attempt.
      return true;
  }
}

MachineError AsMachineError(const Status& status) {
  if (status.code() == Code::kResourceExhausted) {
    return {ErrorClass::kOutOfResources, "RESOURCE_EXHAUSTED", status.message()};
  }
  std::string code;  // InvalidArgument -> INVALID_ARGUMENT
  for (const char c : ToString(status.code())) {
    if (std::isupper(static_cast<unsigned char>(c)) && !code.empty()) code += '_';
    code += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  }
  return {ErrorClass::kOther, code, status.message()};
}

}  // namespace coppice::cloud
