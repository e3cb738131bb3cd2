#include "rehearse/player.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "base/fake_clock.h"
#include "base/strings.h"
#include "rehearse/people.h"
#include "rehearse/played_gangs.h"
#include "rehearse/purse.h"
#include "whatif/model_batch.h"
#include "whatif/model_host.h"
#include "whatif/model_loop.h"
#include "whatif/model_pools.h"
#include "whatif/model_scene.h"

namespace coppice::rehearse {
namespace {

constexpr Duration kSampleEvery = std::chrono::minutes(5);

// What the autoscaler decided in a pass, as decisions.
void TellDecisions(const report::PassReport& pass, Outcome& outcome) {
  const auto scale_up = [&](const report::ScaleUp& up) {
    if (up.result != report::ScaleUpResult::kSuccessful) return;
    for (const report::GroupResize& resize : up.resizes) {
      outcome.decisions.push_back(
          {pass.at, fmt::format("+{} {}", resize.to - resize.from, resize.group),
           fmt::format("for {} pods{}", up.triggered.size(),
                       up.options.size() > 1 ? fmt::format(", best of {} groups", up.options.size())
                                             : "")});
    }
  };
  for (const report::ScaleUp& round : pass.earlier_rounds) scale_up(round);
  scale_up(pass.scale_up);
  std::map<std::string, std::pair<int, size_t>> removed;
  for (const report::RemovedNode& node : pass.scale_down.removed) {
    auto& [count, pods] = removed[node.group];
    ++count;
    pods += node.evicted.size();
  }
  for (const auto& [group, what] : removed) {
    outcome.decisions.push_back(
        {pass.at, fmt::format("-{} {}", what.first, group),
         what.second == 0 ? "empty" : fmt::format("{} pods fit elsewhere", what.second)});
  }
}

// The same of node pools, whose reports tell of what was decided until it is over.
class PoolDecisions {
 public:
  explicit PoolDecisions(Outcome& outcome) : outcome_(outcome) {}

  void Tell(const report::ProvisionReport& report) {
    ++outcome_.passes;
    if (report.provisioning && report.provisioning->at != told_) {
      told_ = report.provisioning->at;
      TellBought(*report.provisioning);
    }
    for (const report::DisruptionCommand& command : report.commands) {
      const bool happens = command.stage == "Done" || command.stage == "Deleting";
      if (happens && told_commands_.insert(command.id).second) TellGone(command);
    }
  }

 private:
  void TellBought(const report::Provisioning& provisioning) {
    struct Bought {
      int machines = 0;
      size_t pods = 0;
      size_t types = 0;
    };
    std::map<std::string, Bought> bought;  // by pool and cheapest type
    for (const report::PlannedMachine& machine : provisioning.machines) {
      if (!machine.error.empty()) continue;
      Bought& one =
          bought[machine.pool + (machine.types.empty() ? "" : " " + machine.types.front())];
      ++one.machines;
      one.pods += machine.pods.size();
      one.types = std::max(one.types, machine.type_count);
    }
    for (const auto& [what, one] : bought) {
      outcome_.decisions.push_back(
          {provisioning.at, fmt::format("+{} {}", one.machines, what),
           fmt::format("for {} pods{}", one.pods,
                       one.types > 1 ? fmt::format(", cheapest of {} types", one.types) : "")});
    }
  }

  void TellGone(const report::DisruptionCommand& command) {
    std::string why = command.reason;
    if (!command.replacements.empty())
      why += fmt::format(", replaced by {}", command.replacements.size());
    if (command.savings > 0) why += fmt::format(", saves {:.4g} an hour", command.savings);
    outcome_.decisions.push_back(
        {command.since, fmt::format("-{} {}", command.nodes.size(), Join(command.pools, ", ")),
         why});
  }

  Outcome& outcome_;
  TimePoint told_;
  std::set<std::string> told_commands_;
};

Status AddPools(const PlayedPools& pools, sim::Model& model) {
  for (const model::NodeClass& node_class : pools.classes) TRY(model.api.objects.Put(node_class));
  for (const model::NodePool& pool : pools.pools) TRY(model.api.objects.Put(pool));
  return Status::Ok();
}

// Nodes that the log had at the start, if there still is such a group.
Status AddStartNodes(const Demand& demand, const provider::ProviderConfig& config,
                     sim::Model& model) {
  for (const auto& [node, of] : demand.start_nodes) {
    const auto known = std::ranges::find(config.groups, of.group, &cloud::GroupConfig::name);
    if (known != config.groups.end()) TRY(model.AddNode(of.group, node, demand.start));
  }
  return Status::Ok();
}

std::vector<std::string> SchedulersOfGangs(const PlayParts& parts) {
  if (parts.batch == nullptr) return {};
  return parts.batch->flags.engine.session.scheduler_names;
}

// The autoscaler's, which leaves gangs to the batch scheduler.
autoscale::FlagValues FlagsBeside(const PlayParts& parts) {
  autoscale::FlagValues flags = parts.flags;
  if (parts.batch != nullptr) flags.options.gang_scheduler_names = SchedulersOfGangs(parts);
  return flags;
}

std::vector<whatif::MakeModelEngine> EnginesBeside(const PlayParts& parts,
                                                   const fit::Chain& filters,
                                                   PoolDecisions& decisions) {
  std::vector<whatif::MakeModelEngine> engines;
  if (parts.pools != nullptr) {
    whatif::ModelPoolsOptions pools{
        .engine = parts.pools->options,
        .filters = &filters,
        .passed = [&](const report::ProvisionReport& report) { decisions.Tell(report); }};
    if (parts.batch != nullptr) {
      pools.not_ours = [names = SchedulersOfGangs(parts)](const model::Pod& pod) {
        return std::ranges::find(names, pod.spec.scheduler_name) != names.end();
      };
    }
    engines.push_back(whatif::ModelPools(std::move(pools)));
  }
  if (parts.batch == nullptr) return engines;
  whatif::ModelBatchOptions batch{.flags = parts.batch->flags,
                                  .plugins = &parts.batch->plugins,
                                  .filters = &parts.plugins.filters};
  // Nobody else does this in a model.
  batch.flags.controllers.pod_groups = batch.flags.controllers.queues = true;
  engines.push_back(whatif::ModelBatch(std::move(batch)));
  return engines;
}

}  // namespace

Result<Outcome> PlayDemand(const PlayParts& parts) {
  const auto began = std::chrono::steady_clock::now();
  const Demand& demand = parts.demand;
  Outcome outcome{.name = parts.name, .start = demand.start, .end = demand.end};
  const auto scene = TRY(whatif::ModelScene::Create({.plugins = parts.plugins,
                                                     .clouds = parts.clouds,
                                                     .config = parts.config,
                                                     .start = demand.start,
                                                     .seed = parts.seed}));
  FakeClock& clock = scene->clock;
  sim::Model& model = *scene->model;
  TRY(AddStartNodes(demand, parts.config, model));
  if (parts.pools != nullptr) TRY(AddPools(*parts.pools, model));
  Purse purse(model, outcome);
  std::optional<PlayedGangs> gangs;
  if (parts.batch != nullptr) {
    gangs.emplace(model, demand, outcome);
    TRY(gangs->Start());
  }
  People people(model, demand, outcome);
  people.Start();
  PoolDecisions pool_decisions(outcome);
  const bool has_groups = !parts.config.groups.empty();
  const auto host = TRY(
      whatif::ModelHost::Create({.model = model,
                                 .clock = clock,
                                 .plugins = parts.plugins,
                                 .flags = FlagsBeside(parts),
                                 .seed = parts.seed,
                                 .log = scene->log,
                                 .metrics = scene->metrics,
                                 .node_groups = has_groups,
                                 .engines = EnginesBeside(parts, scene->filters, pool_decisions)}));
  host->AdvanceTo(demand.start);
  TimePoint sample = demand.start;
  const auto take_sample = [&] {
    outcome.samples.push_back({.at = clock.Now(),
                               .machines = purse.machines(),
                               .pending = static_cast<int>(model.Pending().size()),
                               .pods = people.wanted(),
                               .rate = purse.rate()});
    sample = clock.Now() + kSampleEvery;
  };
  std::optional<whatif::ModelLoop> loop;
  if (has_groups) loop.emplace(*host, model, clock, parts.flags);
  while (clock.Now() < demand.end) {
    if (loop) {
      const auto pass = loop->Next(std::min(demand.end, std::max(sample, clock.Now())));
      if (pass != nullptr) {
        ++outcome.passes;
        TellDecisions(*pass, outcome);
      }
    } else {
      host->AdvanceTo(std::min(demand.end, std::max(sample, clock.Now())));
    }
    if (clock.Now() >= sample) take_sample();
  }
  purse.Charge();
  take_sample();
  outcome.waiting = model.Pending().size();
  people.SumUp();
  if (gangs) gangs->SumUp();
  outcome.real_seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return outcome;
}

}  // namespace coppice::rehearse
