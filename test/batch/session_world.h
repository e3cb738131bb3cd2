// A cluster for a session, in a few words.

#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "batch/session.h"
#include "test/support/discovered_plugins.h"

namespace coppice::test {

class SessionWorld {
 public:
  batch::Options options;
  batch::SessionInput input;
  batch::News news;  // of the last session; the queues that it points to are gone

  SessionWorld() {
    input.uid = "session";
    input.now = TimePoint(std::chrono::hours(24 * 365));
  }

  SessionWorld& Node(const std::string& name, const std::string& cpu, model::Labels labels = {}) {
    auto node = std::make_shared<model::Node>();
    node->metadata.name = name;
    node->metadata.labels = std::move(labels);
    node->metadata.labels["kubernetes.io/hostname"] = name;
    node->status.allocatable["cpu"] = Amount(cpu);
    node->status.allocatable["memory"] = Amount("64Gi");
    node->status.allocatable["pods"] = Amount("110");
    const auto index = snapshot_.AddNode(*node).value();
    input.nodes.push_back({.object = std::move(node), .index = index});
    return *this;
  }

  model::Queue& Queue(const std::string& name, int32_t weight = 1) {
    model::Queue queue;
    queue.metadata.name = name;
    queue.spec.weight = weight;
    queue.status.state = "Open";
    return input.queues.emplace_back(std::move(queue));
  }

  model::PodGroup& Group(const std::string& name, int32_t min_member,
                         const std::string& queue = "default") {
    model::PodGroup group;
    group.metadata.name = name;
    group.metadata.namespace_ = "ns";
    group.spec.min_member = min_member;
    group.spec.queue = queue;
    group.status.phase = "Inqueue";
    return input.groups.emplace_back(std::move(group));
  }

  // A pod of the group; with a node it runs there.
  static model::Pod Pod(const std::string& name, const std::string& group, const std::string& cpu,
                        const std::string& node = "") {
    model::Pod pod;
    pod.metadata.name = name;
    pod.metadata.namespace_ = "ns";
    pod.metadata.uid = "uid-" + name;
    pod.metadata.annotations["scheduling.k8s.io/group-name"] = group;
    pod.metadata.annotations["volcano.sh/task-spec"] = "w";
    pod.spec.scheduler_name = "volcano";
    pod.spec.node_name = node;
    model::Container container{.name = "c", .image = "img"};
    if (!cpu.empty()) container.resources.requests["cpu"] = Amount(cpu);
    pod.spec.containers.push_back(std::move(container));
    pod.status.phase = node.empty() ? "Pending" : "Running";
    return pod;
  }

  SessionWorld& Add(model::Pod pod) {
    auto object = std::make_shared<const model::Pod>(std::move(pod));
    const auto index = snapshot_.AddPod(object, snapshot_.FindNode(object->spec.node_name));
    input.pods.push_back({.object = std::move(object), .index = index});
    return *this;
  }

  batch::Outcome Run(std::string_view conf_text) { return Run(conf_text, ThePlugins().batch); }
  batch::Outcome Run(std::string_view conf_text, const batch::PluginRegistry& plugins) {
    const auto conf = batch::ParseConf(conf_text);
    CHECK(conf.ok());
    auto session =
        batch::Session::Open(*conf, options, plugins, ThePlugins().filters, snapshot_, input);
    CHECK(session.ok());
    (*session)->Run();
    news = (*session)->GatherNews();
    return (*session)->Close();
  }

  static model::Quantity Amount(const std::string& text) {
    return model::Quantity::Parse(text).value();
  }

 private:
  cluster::Facts facts_;
  cluster::Snapshot snapshot_{facts_};
};

}  // namespace coppice::test
