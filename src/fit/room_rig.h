// RoomRig: nodes n0, n1, ... that take `room` pods each, whatever the pods are; for tests of who
// searches and counts.

#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "fit/equivalence.h"
#include "fit/fake_filters.h"
#include "fit/search.h"
#include "test/support/must.h"

namespace coppice::fit {

inline model::Pod Owned(const std::string& name, const std::string& owner = "") {
  model::Pod pod;
  pod.metadata.name = name;
  pod.metadata.uid = name;
  pod.metadata.namespace_ = "default";
  if (!owner.empty()) {
    pod.metadata.owner_references = {
        {.kind = "ReplicaSet", .name = owner, .uid = owner, .controller = true}};
  }
  return pod;
}

inline model::Node Named(const std::string& name) {
  model::Node node;
  node.metadata.name = name;
  return node;
}

class RoomRig : public testing::Test {
 protected:
  RoomRig() {
    FilterRegistry registry("filter");
    AddFake<FakeStateFilter>(
        registry, "Room", [this](const cluster::PodView&, const cluster::Snapshot& s) {
          return Preparation::Ask(std::make_unique<FakeNodeCheck>([this, &s](auto node) {
            ++asked;
            return static_cast<int>(s.pods_on(node).size()) < room
                       ? model::Verdict::Yes()
                       : model::Verdict::No("Room", model::VerdictCode::kUnschedulable, "full");
          }));
        });
    chain_ = std::make_unique<Chain>(MUST(Chain::Create(registry, {.chain = {{.name = "Room"}}})));
    search = std::make_unique<Search>(snapshot, *chain_);
  }
  void AddNodes(int count) {
    for (int i = 0; i < count; ++i) MUST(snapshot.AddNode(Named("n" + std::to_string(i))));
  }
  PendingPod Add(model::Pod pod) {
    const auto object = std::make_shared<const model::Pod>(std::move(pod));
    return {object, snapshot.AddPod(*object)};
  }
  std::vector<PendingPod> Kind(int count) {
    std::vector<PendingPod> kind;
    for (int i = 0; i < count; ++i) kind.push_back(Add(Owned("p" + std::to_string(i), "rs")));
    return kind;
  }

  int room = 1;
  int asked = 0;
  cluster::Snapshot snapshot;
  std::unique_ptr<Chain> chain_;
  std::unique_ptr<Search> search;
};

}  // namespace coppice::fit
