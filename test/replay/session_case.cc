#include "test/replay/session_case.h"

#include <map>
#include <nlohmann/json.hpp>

#include "base/strings.h"
#include "batch/object_texts.h"
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

// Nodes have no namespace, so that the two kinds do not meet.
struct RawTexts final : batch::ObjectTexts {
  std::map<std::string, std::string> by_name;
  std::string_view TextOf(const model::Pod& pod) const override { return Find(pod.metadata); }
  std::string_view TextOf(const model::Node& node) const override { return Find(node.metadata); }
  std::string_view Find(const model::ObjectMeta& meta) const {
    const auto found = by_name.find(meta.namespace_ + "/" + meta.name);
    return found == by_name.end() ? std::string_view() : found->second;
  }
};

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
    input_.nodes.push_back({.object = std::move(node), .index = *index, .images = ImagesOf(json)});
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

void SessionCase::KeepTexts(std::string_view text) {
  const auto ordered = nlohmann::ordered_json::parse(text);
  auto texts = std::make_shared<RawTexts>();
  const auto keep = [&](const char* key) {
    if (!ordered.contains(key)) return;
    for (const auto& object : ordered.at(key)) {
      const auto& meta = object.at("metadata");
      texts->by_name[meta.value("namespace", "") + "/" + meta.value("name", "")] = object.dump();
    }
  };
  keep("pods");
  keep("nodes");
  input_.texts = std::move(texts);
}

Result<std::unique_ptr<batch::Session>> SessionCase::Open(const batch::PluginRegistry& plugins,
                                                          const fit::FilterRegistry& filters,
                                                          bool upstream_exact) {
  TRY(conf_.status());
  batch::Options options;
  options.upstream_exact = upstream_exact;
  return batch::Session::Open(*conf_, options, plugins, filters, snapshot_, input_);
}

}  // namespace coppice::replay
