#include "kube/node_edit.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace coppice::kube {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string Text(const OrderedJson& object, const char* key) {
  if (!object.is_object()) return "";
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

bool Remove(OrderedJson& taints, const std::vector<std::string>& keys) {
  const size_t before = taints.size();
  OrderedJson kept = OrderedJson::array();
  for (OrderedJson& taint : taints) {
    if (std::ranges::find(keys, Text(taint, "key")) == keys.end()) kept.push_back(std::move(taint));
  }
  taints = std::move(kept);
  return taints.size() != before;
}

bool Add(OrderedJson& taints, const model::Taint& wanted) {
  for (const OrderedJson& taint : taints) {
    if (Text(taint, "key") == wanted.key && Text(taint, "effect") == wanted.effect) return false;
  }
  OrderedJson taint = {{"key", wanted.key}, {"effect", wanted.effect}};
  if (!wanted.value.empty()) taint["value"] = wanted.value;
  taints.push_back(std::move(taint));
  return true;
}

}  // namespace

Result<std::optional<std::string>> EditNode(std::string_view node_json,
                                            const cluster::NodeChange& change) {
  OrderedJson node = OrderedJson::parse(node_json, nullptr, false);
  if (!node.is_object() || Text(node, "kind") != "Node")
    return InvalidArgument("the answer is not a Node");
  OrderedJson& spec = node["spec"];
  if (spec.is_null()) spec = OrderedJson::object();
  if (!spec.is_object()) return InvalidArgument("the Node's spec is not an object");
  OrderedJson taints = OrderedJson::array();
  if (const auto it = spec.find("taints"); it != spec.end() && it->is_array()) taints = *it;

  bool changed = false;
  const bool removed = Remove(taints, change.remove_taints);
  changed |= removed;
  for (const model::Taint& taint : change.add_taints) changed |= Add(taints, taint);
  if (changed) {
    if (taints.empty()) {
      spec.erase("taints");
    } else {
      spec["taints"] = std::move(taints);
    }
  }
  const bool only_undo = change.add_taints.empty() && !change.remove_taints.empty();
  if (change.unschedulable && (!only_undo || removed)) {
    const auto it = spec.find("unschedulable");
    const bool now = it != spec.end() && it->is_boolean() && it->get<bool>();
    if (now != *change.unschedulable) {
      changed = true;
      if (*change.unschedulable) {
        spec["unschedulable"] = true;
      } else {
        spec.erase("unschedulable");
      }
    }
  }
  if (!changed) return std::optional<std::string>();
  return std::optional<std::string>(
      node.dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
}

}  // namespace coppice::kube
