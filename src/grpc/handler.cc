#include "grpc/handler.h"

#include "base/strings.h"

namespace coppice::grpc {

std::string Describe(const Caller* caller) {
  if (caller == nullptr) return "nobody";
  const std::vector<std::string> names = caller->Names();
  if (names.empty()) return "no certificate, " + caller->Address();
  return Join(names, ", ");
}

}  // namespace coppice::grpc
