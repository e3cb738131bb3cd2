#include "plugins/batch/extender/group_objects.h"

#include "plugins/batch/extender/fragments.h"
#include "plugins/batch/extender/go_text.h"
#include "wire/time_text.h"
#include "wire/wire.h"

namespace coppice::batch::extender {
namespace {

void AppendKey(std::string& out, std::string_view name) {
  if (out.back() != '{') out += ',';
  AppendGoText(out, name);
  out += ':';
}

void AppendTextUnlessEmpty(std::string& out, std::string_view name, std::string_view value) {
  if (value.empty()) return;
  AppendKey(out, name);
  AppendGoText(out, value);
}

void AppendIntUnlessZero(std::string& out, std::string_view name, int64_t value) {
  if (value == 0) return;
  AppendKey(out, name);
  AppendGoInt(out, value);
}

// One part of an object, as its table writes it.
template <class Object>
std::string PartOf(const Object& object, std::string_view part) {
  const std::string text = AsGoWrites(wire::ToJson(object)).value_or("{}");
  for (const auto& [name, value] : MembersOf(text)) {
    if (name == part) return std::string(value);
  }
  return "{}";
}

}  // namespace

void AppendAmounts(std::string& out, std::string_view name, const model::ResourceList& list) {
  if (list.empty()) return;
  AppendKey(out, name);
  out += '{';
  for (const auto& [resource, amount] : list) {
    AppendKey(out, resource);
    AppendGoText(out, amount.ToString());
  }
  out += '}';
}

void AppendQueueObject(std::string& out, const model::Queue& queue) {
  const std::string text = AsGoWrites(wire::ToJson(queue)).value_or("{}");
  out += '{';
  for (const auto& [name, value] : MembersOf(text)) {
    if (name == "kind" || name == "apiVersion") continue;
    AppendKey(out, name);
    if (name != "status") {
      out += value;
      continue;
    }
    // Inside of the scheduler `allocated` is left out while it is empty; on the wire it never is.
    out += '{';
    for (const auto& [field, amount] : MembersOf(value)) {
      if (field == "allocated" && queue.status.allocated.empty()) continue;
      AppendKey(out, field);
      out += amount;
    }
    out += '}';
  }
  out += '}';
}

std::string MetadataText(const model::PodGroup& group) { return PartOf(group, "metadata"); }
std::string SpecText(const model::PodGroup& group) { return PartOf(group, "spec"); }

void AppendGroupStatus(std::string& out, const model::PodGroupStatus& status) {
  out += '{';
  AppendTextUnlessEmpty(out, "phase", status.phase);
  if (!status.conditions.empty()) {
    AppendKey(out, "conditions");
    out += '[';
    for (const model::PodGroupCondition& condition : status.conditions) {
      if (out.back() != '[') out += ',';
      out += '{';
      AppendTextUnlessEmpty(out, "type", condition.type);
      AppendTextUnlessEmpty(out, "status", condition.status);
      AppendTextUnlessEmpty(out, "transitionID", condition.transition_id);
      AppendKey(out, "lastTransitionTime");
      if (condition.last_transition_time) {
        AppendGoText(out, wire::FormatRfc3339(condition.last_transition_time->at));
      } else {
        out += "null";
      }
      AppendTextUnlessEmpty(out, "reason", condition.reason);
      AppendTextUnlessEmpty(out, "message", condition.message);
      out += '}';
    }
    out += ']';
  }
  AppendIntUnlessZero(out, "running", status.running);
  AppendIntUnlessZero(out, "succeeded", status.succeeded);
  AppendIntUnlessZero(out, "failed", status.failed);
  out += '}';
}

void AppendTopology(std::string& out, const model::NetworkTopology& topology) {
  out += '{';
  AppendTextUnlessEmpty(out, "mode", topology.mode);
  if (topology.highest_tier_allowed) {
    AppendKey(out, "highestTierAllowed");
    AppendGoInt(out, *topology.highest_tier_allowed);
  }
  AppendTextUnlessEmpty(out, "highestTierName", topology.highest_tier_name);
  out += '}';
}

}  // namespace coppice::batch::extender
