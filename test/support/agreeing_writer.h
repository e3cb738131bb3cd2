// An API server that agrees with everything and keeps the events.

#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cluster/writer.h"

namespace coppice::test {

class AgreeingWriter final : public cluster::Writer {
 public:
  std::vector<cluster::Event> events;

  Task<Status> ChangeNode(std::string, cluster::NodeChange) override { co_return Status::Ok(); }
  Task<Status> Evict(cluster::PodName, int64_t) override { co_return Status::Ok(); }
  Task<Result<std::optional<std::string>>> WhereIs(cluster::PodName) override {
    co_return Result<std::optional<std::string>>(std::nullopt);
  }
  void Emit(cluster::Event event) override { events.push_back(std::move(event)); }
};

}  // namespace coppice::test
