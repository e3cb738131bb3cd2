#include "cloud/order.h"

#include <cctype>

namespace coppice::cloud {

std::string PlaceholderId(std::string_view group, std::string_view name) {
  std::string id(kPlaceholderScheme);
  id += group;
  id += '/';
  id += name;
  return id;
}

std::optional<Placeholder> ParsePlaceholder(std::string_view id) {
  if (!id.starts_with(kPlaceholderScheme)) return std::nullopt;
  id.remove_prefix(kPlaceholderScheme.size());
  const size_t slash = id.find('/');
  if (slash == std::string_view::npos || slash == 0 || slash + 1 == id.size()) return std::nullopt;
  const Placeholder parsed{id.substr(0, slash), id.substr(slash + 1)};
  if (parsed.name.find('/') != std::string_view::npos) return std::nullopt;
  return parsed;
}

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
