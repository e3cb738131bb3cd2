#include "autoscale/processor_registry.h"

#include <algorithm>
#include <map>
#include <utility>

#include "base/strings.h"

namespace coppice::autoscale {

namespace {

// Calls visit(name, registry, slot) for every slot. The one list of them.
template <class Registries, class Visit>
void ForEachSlot(Registries& r, Processors& p, Visit visit) {
  visit("custom-resources", r.custom_resources, p.custom_resources);
  visit("actionable-cluster", r.actionable_cluster, p.actionable_cluster);
  visit("loop-start", r.loop_start, p.loop_start);
  visit("node-info", r.node_info, p.node_info);
  visit("node-group-config", r.node_group_config, p.node_group_config);
  visit("pod-list", r.pod_list, p.pod_list);
  visit("scale-up-enforcer", r.scale_up_enforcer, p.scale_up_enforcer);
  visit("node-group-list", r.node_group_list, p.node_group_list);
  visit("binpacking-limiter", r.binpacking_limiter, p.binpacking_limiter);
  visit("node-group-set", r.node_group_set, p.node_group_set);
  visit("node-group-manager", r.node_group_manager, p.node_group_manager);
  visit("async-node-groups", r.async_node_groups, p.async_node_groups);
  visit("scale-up-status", r.scale_up_status, p.scale_up_status);
  visit("scale-down-node", r.scale_down_node, p.scale_down_node);
  visit("scale-down-order", r.scale_down_order, p.scale_down_order);
  visit("scale-down-set", r.scale_down_set, p.scale_down_set);
  visit("scale-down-status", r.scale_down_status, p.scale_down_status);
  visit("autoscaling-status", r.autoscaling_status, p.autoscaling_status);
  visit("scale-down-candidates", r.scale_down_candidates, p.scale_down_candidates);
  visit("scale-state", r.scale_state, p.scale_state);
}

template <class Slot>
Status Put(std::unique_ptr<Slot> made, std::unique_ptr<Slot>& slot) {
  if (slot != nullptr) {
    return InvalidArgument("the slot takes one processor; leave one of them out");
  }
  slot = std::move(made);
  return Status::Ok();
}
template <class Slot>
Status Put(std::unique_ptr<Slot> made, std::vector<std::unique_ptr<Slot>>& slot) {
  slot.push_back(std::move(made));
  return Status::Ok();
}

struct Chosen {
  std::string slot;
  std::string name;
  std::string argument;
};

Result<Chosen> Read(const std::string& choice) {
  const size_t equals = choice.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == choice.size())
    return InvalidArgument("--processor=" + choice + " is not SLOT=NAME or SLOT=NAME:ARGUMENT");
  Chosen chosen{choice.substr(0, equals), choice.substr(equals + 1), ""};
  const size_t colon = chosen.name.find(':');
  if (colon != std::string::npos) {
    chosen.argument = chosen.name.substr(colon + 1);
    chosen.name.resize(colon);
  }
  const std::vector<std::string> slots = ProcessorSlots();
  if (std::ranges::find(slots, chosen.slot) == slots.end()) {
    const std::string nearest = Nearest(chosen.slot, slots);
    return NotFound("--processor=" + choice + ": there is no slot '" + chosen.slot +
                    "'; there are: " + Join(slots, ", ") +
                    (nearest.empty() ? "" : "; did you mean '" + nearest + "'?"));
  }
  return chosen;
}

}  // namespace

Status ProcessorRegistry::Check() const {
  std::string problems;
  Processors none;
  ForEachSlot(*this, none, [&](const char*, const auto& registry, const auto&) {
    const Status status = registry.Check();
    if (!status.ok()) problems += (problems.empty() ? "" : "; ") + status.message();
  });
  return problems.empty() ? Status::Ok() : AlreadyExists(std::move(problems));
}

std::vector<std::string> ProcessorRegistry::names() const {
  std::vector<std::string> all;
  Processors none;
  ForEachSlot(*this, none, [&](const char* slot, const auto& registry, const auto&) {
    for (const std::string& name : registry.names()) all.push_back(slot + ("=" + name));
  });
  return all;
}

Status CheckProcessorNames(const ProcessorRegistry& registry,
                           const std::vector<std::string>& choices) {
  Processors none;
  for (const std::string& choice : choices) {
    const Chosen chosen = TRY(Read(choice));
    Status found = Status::Ok();
    ForEachSlot(registry, none, [&](const char* slot, const auto& makers, const auto&) {
      if (chosen.slot == slot) found = makers.Find(chosen.name).status();
    });
    TRY(found.Context("--processor=" + choice));
  }
  return Status::Ok();
}

std::vector<std::string> ProcessorSlots() {
  std::vector<std::string> names;
  const ProcessorRegistry registry;
  Processors none;
  ForEachSlot(registry, none,
              [&](const char* name, const auto&, const auto&) { names.emplace_back(name); });
  return names;
}

Result<Processors> MakeProcessors(const ProcessorRegistry& registry,
                                  const std::vector<std::string>& choices,
                                  const ProcessorContext& context) {
  TRY(registry.Check());
  std::vector<Chosen> all;
  for (const std::string& choice : choices) all.push_back(TRY(Read(choice)));
  const size_t asked = all.size();
  for (const std::string& choice : registry.defaults) {
    Chosen chosen = TRY(Read(choice));
    const auto overridden = std::find_if(all.begin(), all.begin() + static_cast<ptrdiff_t>(asked),
                                         [&](const Chosen& c) { return c.slot == chosen.slot; });
    if (overridden == all.begin() + static_cast<ptrdiff_t>(asked)) all.push_back(std::move(chosen));
  }

  Processors processors;
  Status failed = Status::Ok();
  for (const Chosen& chosen : all) {
    ForEachSlot(registry, processors, [&](const char* name, const auto& makers, auto& slot) {
      if (chosen.slot != name || !failed.ok()) return;
      ProcessorContext own = context;
      own.argument = chosen.argument;
      auto made = makers.Make(chosen.name, own);
      if (!made.ok()) {
        failed = made.status();
      } else if (*made == nullptr) {
        failed = Internal("its factory gave nothing");
      } else {
        failed = Put(std::move(*made), slot);
      }
    });
    if (!failed.ok()) return failed.Context("--processor=" + chosen.slot + "=" + chosen.name);
  }
  return processors;
}

}  // namespace coppice::autoscale
