// Template sanitising: what remains of a node and its pods on a fresh one.

#include <algorithm>
#include <memory>
#include <vector>

#include "autoscale/templates.h"
#include "model/taints.h"
#include "test/replay/objects.h"
#include "test/replay/replay.h"

namespace coppice::replay {

namespace {

constexpr char kGroup[] = "ng";
constexpr char kSuffix[] = "RANDOM";  // as the recording writes the random part

std::vector<std::string> Texts(const Json& c, const char* key) {
  return c.contains(key) ? c[key].get<std::vector<std::string>>() : std::vector<std::string>{};
}

Json DescribeTemplate(const model::Pod& pod) {
  int64_t cpu = 0;
  int64_t memory = 0;
  for (const auto& container : pod.spec.containers) {
    if (const auto* q = container.resources.requests.Find("cpu")) cpu += q->MilliValue();
    if (const auto* q = container.resources.requests.Find("memory")) memory += q->Value();
  }
  const model::OwnerReference* owner = model::ControllerOf(pod.metadata);
  const std::string suffix = std::string("-") + kSuffix;
  std::string name = pod.metadata.name;
  if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  Json described = {{"cpuMilli", cpu}, {"memory", memory}, {"name", name}};
  if (owner != nullptr && owner->kind == "DaemonSet") {
    described["daemonSet"] = owner->name;
    if (name == owner->name + "-pod") described["name"] = "NEW";
  }
  return described;
}

Json SortedTexts(const Json& list) {
  std::vector<Json> items(list.begin(), list.end());
  std::sort(items.begin(), items.end(),
            [](const Json& a, const Json& b) { return a.dump() < b.dump(); });
  return items;
}

}  // namespace

void template_(const Json& c, Report& report) {
  autoscale::Options options;
  options.startup_taint = Texts(c, "startup-taint");
  options.startup_taint_prefix = Texts(c, "startup-taint-prefix");
  options.status_taint = Texts(c, "status-taint");
  const auto node = Object<model::Node>(c.at("node"));
  const auto pods = Objects<model::Pod>(c, "pods");
  std::vector<std::shared_ptr<const model::DaemonSet>> daemon_sets;
  for (auto& daemon_set : Objects<model::DaemonSet>(c, "daemonSets")) {
    daemon_sets.push_back(std::make_shared<const model::DaemonSet>(std::move(daemon_set)));
  }
  autoscale::TemplateSource source{&node, {}};
  for (const auto& pod : pods) source.pods.push_back(&pod);
  const bool described = c.at("source") == "template";
  autoscale::NodeTemplate made = autoscale::MakeTemplate(
      source, kGroup, daemon_sets,
      described || c.value("force-ds", false) ? autoscale::MissingDaemonSets::kAll
                                              : autoscale::MissingDaemonSets::kCriticalOnly,
      autoscale::TaintConfig(options), c.value("scale-from-unschedulable", false), kSuffix);
  if (described) autoscale::FillDeprecatedLabels(made.node.metadata.labels);

  Json ours;
  ours["labels"] = Json::object();
  for (const auto& [key, value] : made.node.metadata.labels) ours["labels"][key] = value;
  ours["annotations"] = Json::object();
  for (const auto& [key, value] : made.node.metadata.annotations) ours["annotations"][key] = value;
  ours["taints"] = Json::array();
  for (const auto& taint : made.node.spec.taints) {
    ours["taints"].push_back(taint.key + "=" + taint.value + ":" + taint.effect);
  }
  ours["unschedulable"] = made.node.spec.unschedulable;
  ours["providerID"] = made.node.spec.provider_id;
  Json our_pods = Json::array();
  for (const auto& pod : made.pods) our_pods.push_back(DescribeTemplate(pod));
  ours["pods"] = SortedTexts(our_pods);

  for (const auto& [key, value] : ours.items()) {
    Json theirs = c.at("expect").value(key, Json());
    if (theirs.is_null()) theirs = value.is_object() ? Json::object() : Json::array();
    if (key == "pods") theirs = SortedTexts(theirs);
    if (theirs != value) report.Differs(key, theirs.dump(), value.dump());
  }
  if (!made.node.metadata.name.starts_with(c["expect"]["namePrefix"].get<std::string>())) {
    report.Differs("name", c["expect"]["namePrefix"].dump(), made.node.metadata.name);
  }
}

}  // namespace coppice::replay
