#include "report/provision_json.h"

#include "report/explain.h"
#include "report/explain_pools.h"
#include "report/report_json.h"

namespace coppice::report {
namespace {

std::string_view NameOfMiss(PoolMiss::What what) {
  switch (what) {
    case PoolMiss::What::kRequirement:
      return "requirement";
    case PoolMiss::What::kTaint:
      return "taint";
    case PoolMiss::What::kResource:
      return "resource";
    case PoolMiss::What::kOffering:
      return "offering";
    case PoolMiss::What::kLimit:
      return "limit";
    case PoolMiss::What::kNotReady:
      return "not-ready";
    case PoolMiss::What::kTopology:
      return "topology";
    case PoolMiss::What::kOther:
      break;
  }
  return "other";
}

void WriteProvisioning(JsonOut& out, const Provisioning& provisioning) {
  out.Open('{').Field("pods", provisioning.pods).Field("heldBack", provisioning.held_back);
  out.Key("machines").Open('[');
  for (const PlannedMachine& machine : provisioning.machines) {
    out.Open('{')
        .Field("claim", machine.claim)
        .Field("pool", machine.pool)
        .Field("price", machine.price)
        .Field("typeCount", machine.type_count)
        .Field("error", machine.error);
    out.Key("types").Open('[');
    for (const std::string& type : machine.types) out.Text(type);
    out.Close(']').Key("pods").Open('[');
    for (const PodPtr& pod : machine.pods) out.Text(NameOf(*pod));
    out.Close(']').Close('}');
  }
  out.Close(']').Key("unplaced").Open('[');
  for (const UnplacedPod& unplaced : provisioning.unplaced) {
    out.Open('{').Field("pod", NameOf(*unplaced.pod)).Field("text", unplaced.text);
    out.Field("ignored", unplaced.ignored).Key("misses").Open('[');
    for (const PoolMiss& miss : unplaced.misses) {
      out.Open('{')
          .Field("pool", miss.pool)
          .Field("what", NameOfMiss(miss.what))
          .Field("key", miss.key)
          .Field("text", miss.text)
          .Field("tried", miss.tried);
      if (!miss.would_take_if.empty()) out.Field("wouldTakeIf", miss.would_take_if);
      if (!miss.shortfalls.empty()) WriteShortfalls(out, miss.shortfalls);
      out.Close('}');
    }
    out.Close(']').Close('}');
  }
  out.Close(']').Close('}');
}

void WritePool(JsonOut& out, const PoolState& pool) {
  out.Open('{')
      .Field("name", pool.name)
      .Field("ready", pool.ready)
      .Field("static", pool.is_static)
      .Field("text", pool.text)
      .Field("nodes", pool.nodes)
      .Field("cost", pool.cost)
      .Field("types", pool.types);
  out.Key("usage").Open('{');
  for (const auto& [resource, amount] : pool.usage) out.Field(resource, amount);
  out.Close('}').Key("limits").Open('{');
  for (const auto& [resource, amount] : pool.limits) out.Field(resource, amount);
  out.Close('}').Key("budgets").Open('{');
  for (const auto& [reason, left] : pool.budgets) out.Field(reason, left);
  out.Close('}').Close('}');
}

}  // namespace

void Write(JsonOut& out, const ProvisionReport& report) {
  out.Open('{').Field("error", report.error).Field("waitingPods", report.waiting_pods);
  out.Key("pools").Open('[');
  for (const PoolState& pool : report.pools) WritePool(out, pool);
  out.Close(']').Key("claims").Open('[');
  for (const ClaimState& claim : report.claims) {
    out.Open('{')
        .Field("name", claim.name)
        .Field("pool", claim.pool)
        .Field("node", claim.node)
        .Field("providerId", claim.provider_id)
        .Field("type", claim.type)
        .Field("zone", claim.zone)
        .Field("capacityType", claim.capacity_type)
        .Field("price", claim.price)
        .Field("stage", claim.stage)
        .Field("text", claim.text)
        .Close('}');
  }
  out.Close(']');
  if (report.provisioning) {
    out.Key("provisioning");
    WriteProvisioning(out, *report.provisioning);
  }
  out.Key("staying").Open('[');
  for (const StayingPoolNode& staying : report.staying) {
    out.Open('{')
        .Field("node", staying.node)
        .Field("claim", staying.claim)
        .Field("pool", staying.pool)
        .Field("reason", staying.reason)
        .Field("text", staying.text)
        .Close('}');
  }
  out.Close(']').Key("commands").Open('[');
  for (const DisruptionCommand& command : report.commands) {
    out.Open('{')
        .Field("id", command.id)
        .Field("reason", command.reason)
        .Field("decision", command.decision)
        .Field("stage", command.stage)
        .Field("savings", command.savings)
        .Field("priceBefore", command.price_before)
        .Field("text", Sentence(command));
    out.Key("nodes").Open('[');
    for (const std::string& node : command.nodes) out.Text(node);
    out.Close(']').Key("replacements").Open('[');
    for (const std::string& name : command.replacements) out.Text(name);
    out.Close(']').Close('}');
  }
  out.Close(']').Close('}');
}

std::string ToJson(const ProvisionReport& report) {
  JsonOut out;
  Write(out, report);
  return out.Take();
}

}  // namespace coppice::report
