// Filters made of lambdas, for tests of what runs them.

#pragma once

#include <functional>
#include <memory>
#include <utility>

#include "fit/filter.h"

namespace coppice::fit {

// A pure function of two shapes.
class FakeShapeFilter final : public ShapeFilter {
 public:
  using Function =
      std::function<model::Verdict(const cluster::PodSpecShape&, const cluster::NodeShape&)>;
  explicit FakeShapeFilter(Function function) : function_(std::move(function)) {}
  model::Verdict Check(const cluster::PodSpecShape& pod,
                       const cluster::NodeShape& node) const override {
    ++asked;
    return function_(pod, node);
  }
  static inline int asked = 0;

 private:
  Function function_;
};

// A NodeCheck from a function of the node.
class FakeNodeCheck final : public NodeCheck {
 public:
  using Function = std::function<model::Verdict(cluster::NodeIndex)>;
  // `own_node_only` is what it claims of itself.
  explicit FakeNodeCheck(Function function, bool own_node_only = false)
      : function_(std::move(function)), own_node_only_(own_node_only) {}
  model::Verdict Check(cluster::NodeIndex node) const override { return function_(node); }
  bool OwnNodeOnly() const override { return own_node_only_; }

 private:
  Function function_;
  bool own_node_only_;
};

class FakeStateFilter final : public StateFilter {
 public:
  using Function = std::function<Preparation(const cluster::PodView&, const cluster::Snapshot&)>;
  explicit FakeStateFilter(Function function) : function_(std::move(function)) {}
  Preparation Prepare(const cluster::PodView& pod,
                      const cluster::Snapshot& snapshot) const override {
    return function_(pod, snapshot);
  }

 private:
  Function function_;
};

template <class F, class Function>
void AddFake(FilterRegistry& registry, const char* name, Function function) {
  registry.Add(name, [function](const SchedulerConfig&) -> Result<std::unique_ptr<Filter>> {
    return std::unique_ptr<Filter>(std::make_unique<F>(function));
  });
}

}  // namespace coppice::fit
