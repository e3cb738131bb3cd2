// instance_types: groups of overrides, prices, minValues, truncation, and what is left for one pod.

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "cloud/instance_type.h"
#include "provision/solver.h"
#include "test/replay/karpenter.h"
#include "test/replay/karpenter_world.h"
#include "test/replay/replay.h"

namespace coppice::replay {
namespace {

Json PriceOrNull(double price) { return price == cloud::kNoPrice ? Json() : Json(price); }

Json CanonicalAmounts(const Json& parent, const char* key) {
  return Canonical(ReadResources(parent, key));
}

Json TypeAnswer(const cloud::InstanceType& type, const model::NodeRequirements& requirements,
                const model::ResourceList& requests, const Json& c) {
  const model::LabelRules& rules = RecordedLabels();
  Json groups = Json::array();
  for (const cloud::AllocatableGroup& group : cloud::AllocatableGroups(type)) {
    const bool has = std::ranges::any_of(group.offerings, [&](const cloud::Offering* offering) {
      return requirements.Compatible(offering->requirements, &rules);
    });
    groups.push_back({{"allocatable", Canonical(group.allocatable)},
                      {"offerings", group.offerings.size()},
                      {"fits", cloud::Fits(requests, group.allocatable)},
                      {"hasOffering", has}});
  }
  const auto price =
      type.OfferingPrice(c.at("zone").get<std::string>(), c.at("capacityType").get<std::string>());
  return {{"requirementsMet", type.requirements.Intersects(requirements)},
          {"groups", groups},
          {"hasAvailableOffering", cloud::HasCompatibleOffering(type, requirements, rules, true)},
          {"hasOffering", cloud::HasCompatibleOffering(type, requirements, rules, false)},
          {"cheapestPrice", PriceOrNull(cloud::CheapestPrice(type, requirements, rules))},
          {"worstLaunchPrice", PriceOrNull(cloud::WorstLaunchPrice(type, requirements, rules))},
          {"offeringPrice", price ? Json(*price) : Json()}};
}

std::vector<std::string> Names(const cloud::TypeList& types) {
  std::vector<std::string> names;
  for (const cloud::InstanceType* type : types) names.push_back(type->name);
  return names;
}

void CompareLists(const cloud::InstanceTypes& types, const model::NodeRequirements& requirements,
                  const Json& c, Report& report) {
  const Json& expect = c.at("expect");
  cloud::TypeList list;
  for (const cloud::InstanceType& type : types) list.push_back(&type);
  cloud::OrderByPrice(list, requirements, RecordedLabels());
  const auto wished = cloud::SatisfiesMinValues(list, requirements);
  const Json unmet = expect.value("minValuesUnsatisfied", Json::object());
  if (unmet != Json(wished.unmet))
    report.Differs("minValuesUnsatisfied", unmet.dump(), Json(wished.unmet).dump());
  if (!expect.contains("priceOrder")) return;  // two of them cost the same
  if (expect.at("priceOrder") != Json(Names(list)))
    report.Differs("priceOrder", expect.at("priceOrder").dump(), Json(Names(list)).dump());
  if (expect.at("minValuesNeeded") != wished.needed)
    report.Differs("minValuesNeeded", expect.at("minValuesNeeded").dump(),
                   std::to_string(wished.needed));
  const auto cut =
      cloud::Truncate(list, requirements, RecordedLabels(), c.at("truncateTo").get<size_t>(), true);
  if (expect.at("truncateError") != !cut.ok())
    report.Differs("truncateError", expect.at("truncateError").dump(), cut.status().ToString());
  const Json kept = cut.ok() ? Json(Names(*cut)) : Json::array();
  if (expect.value("truncated", Json::array()) != kept)
    report.Differs("truncated", expect.value("truncated", Json::array()).dump(), kept.dump());
}

// The whole filter: a pool with these requirements gets one pod with these requests.
void ComparePod(std::shared_ptr<const cloud::InstanceTypes> types, const Json& c, Report& report) {
  RecordedWorld world;
  provision::Pool pool{.name = "default",
                       .node_class_label = "coppice.example/nodeclass",
                       .node_class_name = "default",
                       .types = std::move(types)};
  for (const Json& one : c.at("requirements").is_null() ? Json::array() : c.at("requirements"))
    pool.requirements.push_back(ReadRequirement(one));
  world.input.pools.push_back(std::move(pool));
  auto pod = std::make_shared<model::Pod>();
  pod->metadata.name = "a-0";
  pod->metadata.namespace_ = "default";
  pod->spec.containers.push_back({.name = "c"});
  pod->spec.containers.front().resources.requests = ReadResources(c, "requests");
  pod->status.phase = "Pending";
  provision::Solver solver(world.input, ReadSolverOptions(c));
  const auto outcome = solver.Solve({.pods = {pod}});
  std::vector<std::string> kept;
  if (outcome.claims.size() == 1) kept = Names(outcome.claims.front().types);
  std::ranges::sort(kept);
  const Json& expect = c.at("expect");
  if (expect.at("kept") != Json(kept))
    report.Differs("kept", expect.at("kept").dump(), Json(kept).dump());
  const Json texts = expect.value("errors", Json::array());
  for (const provision::PodError& error : outcome.errors) {
    if (std::ranges::find(texts, Json(error.text)) == texts.end())
      report.Differs("error", texts.dump(), error.text);
  }
  if (outcome.errors.empty() != texts.empty()) report.Differs("errors", texts.dump(), "none");
}

}  // namespace

void instance_types(const Json& c, Report& report) {
  auto types = std::make_shared<cloud::InstanceTypes>();
  for (const Json& type : c.at("instanceTypes")) types->push_back(ReadInstanceType(type));
  const auto requirements = ReadRequirements(c, "requirements");
  const auto requests = ReadResources(c, "requests");
  const Json& expect = c.at("expect");
  for (const cloud::InstanceType& type : *types) {
    Json theirs = expect.at("types").at(type.name);
    for (Json& group : theirs.at("groups"))
      group["allocatable"] = CanonicalAmounts(group, "allocatable");
    const Json ours = TypeAnswer(type, requirements, requests, c);
    if (theirs != ours) report.Differs(type.name, theirs.dump(), ours.dump());
  }
  CompareLists(*types, requirements, c, report);
  const double adjusted = cloud::AdjustedPrice(0.4, c.at("priceChange").get<std::string>());
  if (std::abs(adjusted - expect.at("adjustedPrice").get<double>()) > 1e-9)
    report.Differs("adjustedPrice", expect.at("adjustedPrice").dump(), std::to_string(adjusted));
  ComparePod(types, c, report);
}

}  // namespace coppice::replay
