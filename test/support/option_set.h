// Options for tests of expanders, with the pods and nodes that they point to.

#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "expand/option.h"
#include "model/objects.h"

namespace coppice::test {

// What one option is made from; zero and empty leave the thing out.
struct AnOption {
  std::string group;
  int nodes = 1;
  int pods = 1;
  int64_t pod_cpu_millis = 500;
  int64_t pod_memory_mib = 512;
  int64_t node_cpu_millis = 4'000;
  int64_t node_memory_mib = 16'384;
  bool has_template = true;
  std::string debug = {};
};

inline model::Pod APodOf(std::string name, int64_t cpu_millis, int64_t memory_mib) {
  model::Pod pod;
  pod.metadata.name = std::move(name);
  pod.metadata.namespace_ = "default";
  model::Container container;
  container.name = "main";
  if (cpu_millis != 0)
    container.resources.requests["cpu"] = model::Quantity::FromMillis(cpu_millis);
  if (memory_mib != 0)
    container.resources.requests["memory"] = model::Quantity::FromUnits(memory_mib << 20);
  pod.spec.containers.push_back(std::move(container));
  return pod;
}

inline model::Node ANodeOf(std::string name, int64_t cpu_millis, int64_t memory_mib) {
  model::Node node;
  node.metadata.name = std::move(name);
  for (auto* amounts : {&node.status.capacity, &node.status.allocatable}) {
    if (cpu_millis != 0) (*amounts)["cpu"] = model::Quantity::FromMillis(cpu_millis);
    if (memory_mib != 0) (*amounts)["memory"] = model::Quantity::FromUnits(memory_mib << 20);
  }
  return node;
}

class OptionSet {
 public:
  OptionSet() = default;
  explicit OptionSet(const std::vector<AnOption>& wanted) {
    for (const AnOption& one : wanted) Add(one);
  }
  OptionSet(const OptionSet&) = delete;
  OptionSet& operator=(const OptionSet&) = delete;

  expand::Option& Add(const AnOption& wanted) {
    expand::Option& option = options_.emplace_back();
    option.group = wanted.group;
    option.node_count = wanted.nodes;
    option.debug = wanted.debug;
    if (wanted.has_template) {
      option.node = &nodes_.emplace_back(
          ANodeOf("template-of-" + wanted.group, wanted.node_cpu_millis, wanted.node_memory_mib));
    }
    for (int i = 0; i < wanted.pods; ++i) {
      option.pods.push_back(&pods_.emplace_back(APodOf(
          wanted.group + "-" + std::to_string(i), wanted.pod_cpu_millis, wanted.pod_memory_mib)));
    }
    return option;
  }

  expand::Options options() const {
    expand::Options all;
    for (const expand::Option& option : options_) all.push_back(&option);
    return all;
  }
  std::vector<std::pair<std::string, const model::Node*>> templates() const {
    std::vector<std::pair<std::string, const model::Node*>> all;
    for (const expand::Option& option : options_) {
      if (option.node != nullptr) all.emplace_back(option.group, option.node);
    }
    return all;
  }

 private:
  std::deque<expand::Option> options_;
  std::deque<model::Node> nodes_;
  std::deque<model::Pod> pods_;
};

inline std::vector<std::string> GroupsOf(const expand::Options& options) {
  std::vector<std::string> groups;
  for (const expand::Option* option : options) groups.push_back(option->group);
  return groups;
}

}  // namespace coppice::test
