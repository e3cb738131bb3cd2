// A gRPC service without a wire: what `coppice conform` asks goes straight to the handlers.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "conform/calls.h"
#include "conform/report.h"
#include "grpc/handler.h"

namespace coppice::conform {

inline Transport InProcess(grpc::Service service, bool answers_unknown_methods = false) {
  return [service = std::move(service), answers_unknown_methods](
             const std::string& path, std::string_view request,
             Deadline deadline) -> Result<std::string> {
    for (const grpc::Method& method : service.methods) {
      if (service.PathOf(method) != path) continue;
      grpc::Answer answer =
          method.handler({.method = path, .request = request, .deadline = deadline});
      if (!answer.status.ok()) return answer.status;
      return std::string(answer.bytes.view());
    }
    if (answers_unknown_methods) return std::string();
    return Unimplemented("no such method");
  };
}

inline std::vector<std::string> NamesOf(const Report& report, Verdict verdict) {
  std::vector<std::string> names;
  for (const RuleResult& rule : report.rules) {
    if (rule.outcome.verdict == verdict) names.push_back(rule.name);
  }
  return names;
}

}  // namespace coppice::conform
