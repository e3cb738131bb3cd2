#include "test/replay/case_groups.h"

#include <algorithm>
#include <stdexcept>

#include "base/yaml.h"
#include "test/replay/objects.h"

namespace coppice::replay {

namespace {

cloud::Instance ToInstance(const Json& json) {
  cloud::Instance instance;
  instance.id = json.at("id");
  const std::string state = json.value("state", "");
  if (state == "Running") instance.state = cloud::InstanceState::kRunning;
  if (state == "Creating") instance.state = cloud::InstanceState::kCreating;
  if (state == "Deleting") instance.state = cloud::InstanceState::kDeleting;
  if (json.contains("errorClass")) {
    instance.error = cloud::MachineError{
        json["errorClass"] == "OutOfResource" ? cloud::ErrorClass::kOutOfResources
                                              : cloud::ErrorClass::kOther,
        json.value("errorCode", ""), json.value("errorMessage", "")};
  }
  return instance;
}

Duration ToDuration(const std::string& text) {
  auto parsed = ParseGoDuration(text);
  if (!parsed.ok()) throw std::runtime_error(parsed.status().ToString());
  return *parsed;
}

}  // namespace

CaseGroups::CaseGroups(const Json& groups, std::function<void(Json)> record)
    : record_(std::move(record)) {
  for (const Json& json : groups) {
    Group group;
    group.info = {json.at("id"), json.value("min", 0), json.value("max", 0), json.at("id")};
    group.target = json.value("target", 0);
    if (json.contains("template") && !json["template"].is_null()) {
      group.node_template =
          std::make_shared<const model::Node>(Object<model::Node>(json["template"].at("node")));
    }
    if (json.contains("options") && !json["options"].is_null()) group.options = json["options"];
    group.increase_error = json.value("increaseError", "");
    group.delete_error = json.value("deleteError", "");
    groups_.push_back(std::move(group));
    for (const Json& instance : json.value("instances", Json::array())) {
      AddInstance(json.at("id"), instance);
    }
  }
}

CaseGroups::Group* CaseGroups::Find(std::string_view id) {
  const auto it = std::ranges::find_if(groups_, [id](const Group& g) { return g.info.id == id; });
  return it == groups_.end() ? nullptr : &*it;
}

CaseGroups::Group& CaseGroups::at(const std::string& id) {
  Group* group = Find(id);
  if (group == nullptr) throw std::runtime_error("no group " + id);
  return *group;
}

void CaseGroups::AddInstance(const std::string& group, const Json& instance) {
  at(group).instances.push_back(ToInstance(instance));
  member_[instance.at("id")] = group;
}

void CaseGroups::SetInstance(const std::string& group, const Json& instance) {
  for (auto& known : at(group).instances) {
    if (known.id == instance.at("id").get<std::string>()) known = ToInstance(instance);
  }
}

void CaseGroups::RemoveInstance(const std::string& group, const std::string& id) {
  std::erase_if(at(group).instances, [&](const auto& i) { return i.id == id; });
}

void CaseGroups::NodeRemoved(const std::string& provider_id) {
  for (const Group& group : groups_) {
    for (const auto& instance : group.instances) {
      if (instance.id == provider_id) return;  // the machine is still there
    }
  }
  member_.erase(provider_id);
}

std::vector<cloud::GroupInfo> CaseGroups::Groups() {
  std::vector<cloud::GroupInfo> all;
  for (const Group& group : groups_) all.push_back(group.info);
  return all;
}

Result<std::optional<std::string>> CaseGroups::GroupOf(const cloud::NodeRef& node) {
  const auto it = member_.find(node.provider_id);
  if (it == member_.end()) return std::optional<std::string>();
  return std::optional<std::string>(it->second);
}

Result<bool> CaseGroups::HasInstance(const cloud::NodeRef& node) {
  const auto it = member_.find(node.provider_id);
  if (it == member_.end()) return true;  // a node of no group
  return std::ranges::any_of(at(it->second).instances,
                             [&](const auto& i) { return i.id == node.provider_id; });
}

Result<int> CaseGroups::TargetSize(std::string_view group) { return at(std::string(group)).target; }

Result<std::vector<cloud::Instance>> CaseGroups::Instances(std::string_view group) {
  return at(std::string(group)).instances;
}

Result<std::shared_ptr<const model::Node>> CaseGroups::Template(std::string_view group) {
  const Group& g = at(std::string(group));
  if (g.node_template == nullptr) return Unimplemented("no template");
  return g.node_template;
}

Result<std::optional<cloud::ScalingOptions>> CaseGroups::Options(
    std::string_view group, const cloud::ScalingOptions& defaults) {
  const Group& g = at(std::string(group));
  if (!g.options) return Unimplemented("no options");
  cloud::ScalingOptions options = defaults;
  using Setter = std::function<void(const std::string&)>;
  const auto number = [](double& to) -> Setter {
    return [&to](const std::string& v) { to = std::stod(v); };
  };
  const auto flag = [](bool& to) -> Setter {
    return [&to](const std::string& v) { to = v == "true"; };
  };
  const auto time = [](Duration& to) -> Setter {
    return [&to](const std::string& v) { to = ToDuration(v); };
  };
  const std::map<std::string, Setter> setters = {
      {"scale-down-utilization-threshold", number(options.scale_down_utilization_threshold)},
      {"scale-down-gpu-utilization-threshold",
       number(options.scale_down_gpu_utilization_threshold)},
      {"scale-down-unneeded-time", time(options.scale_down_unneeded_time)},
      {"scale-down-unready-time", time(options.scale_down_unready_time)},
      {"max-node-provision-time", time(options.max_node_provision_time)},
      {"max-node-startup-time", time(options.max_node_startup_time)},
      {"zero-or-max-node-scaling", flag(options.zero_or_max_node_scaling)},
      {"allow-non-atomic-scale-up-to-max", flag(options.allow_non_atomic_scale_up_to_max)},
      {"ignore-daemonsets-utilization", flag(options.ignore_daemon_sets_utilization)},
  };
  for (const auto& [key, value] : g.options->items()) {
    setters.at(key)(value.is_string() ? value.get<std::string>() : value.dump());
  }
  return std::optional<cloud::ScalingOptions>(options);
}

Status CaseGroups::Increase(std::string_view group, int delta, Deadline) {
  Group& g = at(std::string(group));
  Json call = {{"call", "IncreaseSize"}, {"group", group}, {"delta", delta}};
  if (!g.increase_error.empty()) {
    call["error"] = g.increase_error;
    record_(std::move(call));
    return {Code::kUnknown, g.increase_error};
  }
  g.target += delta;
  record_(std::move(call));
  return Status::Ok();
}

Status CaseGroups::IncreaseAtomically(std::string_view, int, Deadline) {
  return Unimplemented("no AtomicIncreaseSize");
}

Status CaseGroups::Delete(std::string_view group, const std::vector<cloud::NodeRef>& nodes,
                          Deadline) {
  Group& g = at(std::string(group));
  std::vector<std::string> ids;
  for (const auto& node : nodes) ids.push_back(node.provider_id);
  std::ranges::sort(ids);
  Json call = {{"call", "DeleteNodes"}, {"group", group}, {"instances", ids}};
  if (!nodes.empty() && !nodes.front().stand_in_reason.empty())
    call["reason"] = nodes.front().stand_in_reason;
  if (!g.delete_error.empty()) {
    call["error"] = g.delete_error;
    record_(std::move(call));
    return {Code::kUnknown, g.delete_error};
  }
  for (const std::string& id : ids) {
    const auto removed = std::erase_if(g.instances, [&](const auto& i) { return i.id == id; });
    g.target -= static_cast<int>(removed);
  }
  record_(std::move(call));
  return Status::Ok();
}

Status CaseGroups::DecreaseTarget(std::string_view group, int delta, Deadline) {
  Group& g = at(std::string(group));
  Json call = {{"call", "DecreaseTargetSize"}, {"group", group}, {"delta", delta}};
  const int size = static_cast<int>(g.instances.size());
  if (g.target + delta < size) {
    const std::string text =
        "attempt to delete existing nodes, target size: " + std::to_string(g.target) +
        " delta: " + std::to_string(delta) + " existing: " + std::to_string(size);
    call["error"] = text;
    record_(std::move(call));
    return {Code::kUnknown, text};
  }
  g.target += delta;
  record_(std::move(call));
  return Status::Ok();
}

Result<double> CaseGroups::NodePrice(const cloud::NodeRef& node,
                                     const std::map<std::string, std::string>&, TimePoint,
                                     TimePoint) {
  const Json prices = pricing.value("nodePrices", Json::object());
  const auto it = prices.find(node.name);
  if (it == prices.end() || it->is_null()) return NotFound("no price for " + node.name);
  return it->get<double>();
}

Result<double> CaseGroups::PodPrice(const model::Pod& pod, TimePoint, TimePoint) {
  double cores = 0;
  double gib = 0;
  for (const auto& container : pod.spec.containers) {
    if (const auto* q = container.resources.requests.Find("cpu")) {
      cores += static_cast<double>(q->MilliValue()) / 1000.0;
    }
    if (const auto* q = container.resources.requests.Find("memory")) {
      gib += static_cast<double>(q->Value()) / (1 << 30);
    }
  }
  return cores * pricing.value("podPricePerCore", 0.0) + gib * pricing.value("podPricePerGiB", 0.0);
}

}  // namespace coppice::replay
