// A whole engine without plug-ins, and what a gang asks of its seller.

#pragma once

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "autoscale/group_seller.h"
#include "autoscale/plain_engine_rig.h"

namespace coppice::autoscale {

class GroupSellerRig : public PlainEngineRig {
 protected:
  void Start(std::vector<std::string> args = {}) {
    Assemble(args, inline_, writer_);
    Pass();
  }
  // A group whose nodes have so much of a resource of their own, and nothing of the others'.
  void AddGroupOf(const std::string& id, const std::string& resource, int64_t amount, int max,
                  int min = 0) {
    model::Node node = ANode("template-of-" + id, "zone-" + id, clock_.Now());
    for (auto* list : {&node.status.capacity, &node.status.allocatable})
      (*list)[resource] = model::Quantity::FromUnits(amount);
    groups_.Add({.info = {.id = id, .min_size = min, .max_size = max},
                 .target = min,
                 .node_template = std::make_shared<const model::Node>(std::move(node))});
  }
  static market::TaskClass Tasks(int count, const std::string& resource, int64_t amount) {
    auto pod = std::make_shared<model::Pod>();
    pod->metadata.name = "task";
    pod->metadata.namespace_ = "ns";
    pod->spec.scheduler_name = "volcano";
    model::Container container;
    container.resources.requests[resource] = model::Quantity::FromUnits(amount);
    pod->spec.containers.push_back(container);
    return {.role = resource, .pod = std::move(pod), .count = count};
  }
  static market::Want Gang(std::vector<market::TaskClass> classes, std::string name = "ns/gang") {
    market::Want want;
    want.gang = std::move(name);
    want.classes = std::move(classes);
    return want;
  }
  // `placed`: of others, in the session that asks.
  market::Quotes Ask(market::Want want, std::vector<market::PlacedPod> placed = {}) {
    market::View view{.now = clock_.Now(), .placed = std::move(placed)};
    return executor_.BlockOn(engine_->seller().Quote(std::move(want), std::move(view)));
  }
  market::Offer Offered(market::Want want, std::vector<market::PlacedPod> placed = {}) {
    auto quotes = Ask(std::move(want), std::move(placed));
    auto* offers = std::get_if<std::vector<market::Offer>>(&quotes);
    if (offers == nullptr) {
      ADD_FAILURE() << std::get<market::Refusal>(quotes).text;
      return {};
    }
    EXPECT_THAT(*offers, testing::SizeIs(1));
    return offers->front();
  }
  market::Refusal Refused(market::Want want) {
    auto quotes = Ask(std::move(want));
    auto* refusal = std::get_if<market::Refusal>(&quotes);
    if (refusal == nullptr) {
      ADD_FAILURE() << "there was an offer";
      return {};
    }
    return *refusal;
  }
  market::Outcome Ordered(market::Offer offer) {
    return executor_.BlockOn(engine_->seller().Order(std::move(offer)));
  }
  int TargetOf(const std::string& group) { return MUST(groups_.TargetSize(group)); }
};

}  // namespace coppice::autoscale
