// HyperNodes and the annotation of a group are other people's texts: a tree comes of whatever they
// say, and a job finds its place in it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "batch/hyper_nodes.h"
#include "batch/job.h"
#include "batch/node.h"
#include "wire/wire.h"

namespace coppice::batch {
namespace {

void Try(std::string_view text) {
  const size_t end = text.find('\n');
  std::vector<HyperNodeObject> objects;
  for (size_t at = end == std::string_view::npos ? text.size() : end + 1; at < text.size();) {
    const size_t next = std::min(text.find('\n', at), text.size());
    if (auto object = wire::FromJson<model::HyperNode>(text.substr(at, next - at)); object.ok()) {
      const bool again = std::ranges::any_of(objects, [&](const HyperNodeObject& other) {
        return other->metadata.name == object->metadata.name;
      });
      if (!again) objects.push_back(std::make_shared<model::HyperNode>(*std::move(object)));
    }
    at = next + 1;
  }
  std::vector<std::shared_ptr<const model::Node>> nodes;
  for (const char* name : {"a", "b", "c"}) {
    auto node = std::make_shared<model::Node>();
    node->metadata.name = name;
    node->metadata.labels["rack"] = name;
    nodes.push_back(std::move(node));
  }
  const HyperNodeTree tree(std::move(objects), nodes);
  for (uint32_t node = 0; node < 3; ++node) {
    for (const HyperNode* at : tree.Of(node)) {
      CHECK(at->Has(node));
      CHECK(HyperNodeTree::IsWithin(*at, tree.top()));
      CHECK(at->parent == nullptr || at->parent->tier > at->tier);
    }
  }
  model::PodGroup group;
  group.metadata.annotations[std::string(kAllocatedHyperNodeKey)] = text.substr(0, end);
  group.spec.network_topology = {.mode = "hard", .highest_tier_allowed = 2};
  NodeInfo node(nodes.front());
  auto pod = std::make_shared<model::Pod>();
  pod->spec.node_name = "a";
  pod->status.phase = "Running";
  Task task = MakeTask(std::move(pod));
  task.request = std::make_shared<const Resource>();
  Job job(group);
  CHECK(node.Add(task).ok());
  job.AddTask(task);
  job.Finish();
  job.SettleTopology(tree, false);
  // Whatever was noted, it is where its task is.
  CHECK(tree.Find(job.allocated_hyper_node)->Has(0));
}

}  // namespace
}  // namespace coppice::batch

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  coppice::batch::Try(std::string_view(reinterpret_cast<const char*>(data), size));
  return 0;
}
