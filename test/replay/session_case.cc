#include "test/replay/session_case.h"

#include "base/strings.h"
#include "test/replay/objects.h"

namespace coppice::replay {
namespace {

std::vector<batch::NodeImage> ImagesOf(const Json& node) {
  std::vector<batch::NodeImage> images;
  const Json status = node.value("status", Json::object());
  if (!status.contains("images")) return images;
  for (const Json& image : status.at("images")) {
    images.push_back({.names = image.value("names", std::vector<std::string>()),
                      .size_bytes = image.value("sizeBytes", int64_t{0})});
  }
  return images;
}

bool IsTerminated(const model::Pod& pod) {
  return pod.status.phase == "Succeeded" || pod.status.phase == "Failed";
}

}  // namespace

SessionCase::SessionCase(const Json& c)
    : conf_(batch::ParseConf(Trim(c.at("conf").get_ref<const std::string&>()))) {
  for (const Json& json : c.value("nodes", Json::array())) {
    auto node = std::make_shared<const model::Node>(Object<model::Node>(json));
    const auto index = snapshot_.AddNode(*node);
    if (!index.ok()) throw std::runtime_error(index.status().ToString());
    input_.nodes.push_back(
        {.object = std::move(node), .index = *index, .images = ImagesOf(json)});
  }
  for (const Json& json : c.value("pods", Json::array())) {
    auto pod = std::make_shared<const model::Pod>(Object<model::Pod>(json));
    const cluster::NodeIndex node =
        IsTerminated(*pod) ? cluster::kNone : snapshot_.FindNode(pod->spec.node_name);
    const cluster::PodIndex index = snapshot_.AddPod(pod, node);
    input_.pods.push_back({.object = std::move(pod), .index = index});
  }
  input_.groups = Objects<model::PodGroup>(c, "podGroups");
  input_.queues = Objects<model::Queue>(c, "queues");
  input_.priority_classes = Objects<model::PriorityClass>(c, "priorityClasses");
  input_.quotas = Objects<model::ResourceQuota>(c, "resourceQuotas");
  input_.uid = "this-session";
  // The recordings' wall clock is after the first of November, their objects are of January.
  using namespace std::chrono;  // NOLINT: literals of dates
  input_.now = sys_days{2026y / November / 2d};
}

Result<std::unique_ptr<batch::Session>> SessionCase::Open(const batch::PluginRegistry& plugins,
                                                          const fit::FilterRegistry& filters) {
  TRY(conf_.status());
  batch::Options options;
  options.upstream_exact = true;
  return batch::Session::Open(*conf_, options, plugins, filters, snapshot_, input_);
}

}  // namespace coppice::replay
