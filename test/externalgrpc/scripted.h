// A provider without a network: scripted groups behind our real handlers, where a test can stand in
// for any method, count what was asked, and fail what it likes.

#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "cloud/fake_node_groups.h"
#include "grpc/handler.h"
#include "plugins/node_groups/externalgrpc/client.h"
#include "rpc/node_group_server.h"

namespace coppice::test {

class ScriptedProvider {
 public:
  // nullopt: the real handler answers.
  using Stand = std::function<std::optional<Result<std::string>>(std::string_view request,
                                                                 Deadline deadline)>;

  cloud::FakeNodeGroups groups;

  void On(const std::string& method, Stand stand) {
    const std::lock_guard lock(mutex_);
    stands_[method] = std::move(stand);
  }
  void Fail(const std::string& method, Status status) {
    On(method, [status](std::string_view, Deadline) { return Result<std::string>(status); });
  }
  void Answer(const std::string& method, std::string bytes) {
    On(method, [bytes = std::move(bytes)](std::string_view, Deadline) {
      return Result<std::string>(bytes);
    });
  }
  void Behave(const std::string& method) { On(method, nullptr); }

  int asked(const std::string& method) const {
    const std::lock_guard lock(mutex_);
    const auto it = asked_.find(method);
    return it == asked_.end() ? 0 : it->second;
  }
  int asked() const {
    const std::lock_guard lock(mutex_);
    int sum = 0;
    for (const auto& [method, count] : asked_) sum += count;
    return sum;
  }

  Result<std::string> Call(const std::string& path, std::string_view request, Deadline deadline) {
    const std::string method = path.substr(path.rfind('/') + 1);
    Stand stand;
    {
      const std::lock_guard lock(mutex_);
      ++asked_[method];
      stand = stands_[method];
    }
    if (stand) {
      auto answer = stand(request, deadline);
      if (answer) return *std::move(answer);
    }
    return Answered(method, request, deadline);
  }

  // What the real handler says.
  Result<std::string> Answered(const std::string& method, std::string_view request,
                               Deadline deadline) {
    for (const grpc::Method& each : service_.methods) {
      if (each.name != method) continue;
      const grpc::Answer answer = each.handler({.request = request, .deadline = deadline});
      if (!answer.status.ok()) return answer.status;
      return std::string(answer.bytes.view());
    }
    return Unimplemented(method);
  }

  node_groups::externalgrpc::Remote::Transport transport() {
    return [this](const std::string& path, std::string_view request, Deadline deadline) {
      return Call(path, request, deadline);
    };
  }

 private:
  grpc::Service service_ = rpc::NodeGroupService(groups);
  mutable std::mutex mutex_;
  std::map<std::string, Stand> stands_;
  std::map<std::string, int> asked_;
};

}  // namespace coppice::test
