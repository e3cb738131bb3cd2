// Whatever stands in the arguments of a plug-in: it is made, or refused with a reason, and a session
// with it ends.

#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/check.h"
#include "batch/session.h"
#include "model/quantity.h"

namespace coppice::test {

// Two nodes, a gang that waits, one that runs.
inline batch::SessionInput SmallWorld(cluster::Snapshot& snapshot) {
  batch::SessionInput input;
  input.uid = "session";
  input.now = TimePoint(std::chrono::hours(24 * 365));
  for (const char* name : {"n0", "n1"}) {
    auto node = std::make_shared<model::Node>();
    node->metadata.name = name;
    node->metadata.labels["kubernetes.io/hostname"] = name;
    node->metadata.labels["volcano.sh/nodegroup-name"] = name;
    for (const auto& [resource, amount] :
         {std::pair("cpu", "4"), std::pair("memory", "8Gi"), std::pair("pods", "10")})
      node->status.allocatable[resource] = model::Quantity::Parse(amount).value();
    const auto index = snapshot.AddNode(*node).value();
    input.nodes.push_back({.object = std::move(node), .index = index, .images = {}});
  }
  for (const char* name : {"root", "default"}) {
    model::Queue queue;
    queue.metadata.name = name;
    queue.status.state = "Open";
    input.queues.push_back(std::move(queue));
  }
  for (const char* name : {"runs", "waits"}) {
    model::PodGroup group;
    group.metadata.name = name;
    group.metadata.namespace_ = "ns";
    group.spec.min_member = 1;
    group.spec.queue = "default";
    group.status.phase = "Inqueue";
    input.groups.push_back(group);
    for (int i = 0; i < 2; ++i) {
      auto pod = std::make_shared<model::Pod>();
      pod->metadata.name = std::string(name) + "-w-" + std::to_string(i);
      pod->metadata.namespace_ = "ns";
      pod->metadata.uid = "uid-" + pod->metadata.name;
      pod->metadata.annotations["scheduling.k8s.io/group-name"] = name;
      pod->metadata.annotations["volcano.sh/task-spec"] = "w";
      pod->spec.scheduler_name = "volcano";
      const bool runs = group.metadata.name == "runs";
      if (runs) pod->spec.node_name = "n0";
      pod->status.phase = runs ? "Running" : "Pending";
      model::Container container{.name = "c", .image = "img"};
      container.resources.requests["cpu"] = model::Quantity::Parse(runs ? "1500m" : "3").value();
      pod->spec.containers.push_back(std::move(container));
      const auto index = snapshot.AddPod(pod, snapshot.FindNode(pod->spec.node_name));
      input.pods.push_back({.object = std::move(pod), .index = index});
    }
  }
  return input;
}

// With every plug-in that asks nobody outside, one after the other, once as by default and once as
// upstream. How many could be opened.
inline int RunWithArguments(const batch::PluginRegistry& plugins,
                            const fit::FilterRegistry& filters, const batch::Arguments& arguments) {
  int opened = 0;
  for (const std::string& name : plugins.names()) {
    if (name == "extender" || name == "usage") continue;
    for (const bool exact : {false, true}) {
      batch::PluginOption option{.name = name, .arguments = arguments};
      option.flags.fill(true);
      batch::PluginOption gang{.name = "gang"};
      gang.flags.fill(true);
      batch::Conf conf;
      conf.actions = {"enqueue", "allocate", "preempt", "reclaim", "backfill", "shuffle"};
      conf.tiers = {{{gang}}, {{option}}};
      batch::Options options;
      options.upstream_exact = exact;
      const cluster::Facts facts;
      cluster::Snapshot snapshot(facts);
      auto input = SmallWorld(snapshot);
      auto session =
          batch::Session::Open(conf, options, plugins, filters, snapshot, std::move(input));
      if (!session.ok()) {
        CHECK(!session.status().message().empty());
        continue;
      }
      ++opened;
      (*session)->Run();
      (void)(*session)->Close();
    }
  }
  return opened;
}

}  // namespace coppice::test
