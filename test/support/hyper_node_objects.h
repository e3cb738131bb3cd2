// HyperNodes for tests, in a few words.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "model/batch.h"

namespace coppice::test {

inline std::shared_ptr<model::HyperNode> AHyperNode(const std::string& name, int64_t tier,
                                                    const std::string& tier_name = "") {
  auto object = std::make_shared<model::HyperNode>();
  object->metadata.name = name;
  object->spec.tier = tier;
  object->spec.tier_name = tier_name;
  return object;
}

// Of these nodes.
inline std::shared_ptr<model::HyperNode> ARack(const std::string& name, int64_t tier,
                                               const std::vector<std::string>& nodes) {
  auto object = AHyperNode(name, tier);
  for (const std::string& node : nodes) {
    object->spec.members.push_back(
        {.type = "Node", .selector = {.exact_match = model::HyperNodeName{node}}});
  }
  return object;
}

// Of these HyperNodes.
inline std::shared_ptr<model::HyperNode> ASpine(const std::string& name, int64_t tier,
                                                const std::vector<std::string>& parts) {
  auto object = AHyperNode(name, tier);
  for (const std::string& part : parts) {
    object->spec.members.push_back(
        {.type = "HyperNode", .selector = {.exact_match = model::HyperNodeName{part}}});
  }
  return object;
}

inline std::shared_ptr<model::HyperNode> ByPattern(const std::string& name, int64_t tier,
                                                   const std::string& pattern) {
  auto object = AHyperNode(name, tier);
  object->spec.members.push_back(
      {.type = "Node", .selector = {.regex_match = model::HyperNodePattern{pattern}}});
  return object;
}

inline std::shared_ptr<model::HyperNode> ByLabel(const std::string& name, int64_t tier,
                                                 const std::string& key, const std::string& value) {
  auto object = AHyperNode(name, tier);
  model::LabelSelector selector;
  selector.match_labels[key] = value;
  object->spec.members.push_back({.type = "Node", .selector = {.label_match = selector}});
  return object;
}

}  // namespace coppice::test
