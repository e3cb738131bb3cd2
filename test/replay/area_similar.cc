// similar: comparators of node groups, and how new nodes are spread over similar ones.

#include <map>
#include <string>

#include "autoscale/similar.h"
#include "test/replay/objects.h"
#include "test/replay/replay.h"

namespace coppice::replay {
namespace {

autoscale::NodeTemplate ReadTemplate(const Json& side) {
  return {.node = Object<model::Node>(side.at("node")), .pods = Objects<model::Pod>(side, "pods")};
}

autoscale::SimilarityCheck ReadComparator(const Json& c) {
  const auto labels = c.value("labels", std::vector<std::string>());
  const std::string comparator = c.at("comparator");
  if (comparator == "label") return autoscale::CompareLabels(labels);
  const Json& ratios = c.at("ratios");
  const std::map<std::string, autoscale::LabelFlavor> flavors = {
      {"generic", autoscale::LabelFlavor::kGeneric},
      {"aws", autoscale::LabelFlavor::kAws},
      {"gce", autoscale::LabelFlavor::kGce},
      {"azure", autoscale::LabelFlavor::kAzure}};
  return autoscale::CompareTemplates(flavors.at(comparator), labels,
                                     {.capacity_memory = ratios.at("memory-difference-ratio"),
                                      .allocatable = ratios.at("max-allocatable-difference-ratio"),
                                      .free = ratios.at("max-free-difference-ratio")});
}

void CompareCase(const Json& c, Report& report) {
  const bool theirs = c.at("expect").at("similar");
  const auto ours = ReadComparator(c)(ReadTemplate(c.at("a")), ReadTemplate(c.at("b")));
  if (theirs != ours.similar) {
    report.Differs(c.at("comparator"), theirs ? "similar" : "different",
                   ours.similar ? "similar" : "different: " + ours.difference);
  }
}

void BalanceCase(const Json& c, Report& report) {
  std::vector<autoscale::GroupSize> groups;
  for (const Json& group : c.at("groups")) {
    groups.push_back(
        {.group = group.at("id"), .current = group.at("target"), .max = group.at("max")});
  }
  const auto balanced = autoscale::Balance(groups, c.at("newNodes"));
  const Json& expect = c.at("expect");
  if (expect.contains("error") || !balanced.ok()) {
    if (expect.contains("error") != !balanced.ok()) {
      report.Differs("balance", expect.dump(), balanced.status().ToString());
    }
    return;
  }
  Json sizes = Json::object();
  for (const autoscale::GroupSize& group : *balanced) sizes[group.group] = group.planned;
  if (expect.at("newSizes") != sizes)
    report.Differs("newSizes", expect.at("newSizes").dump(), sizes.dump());
}

}  // namespace

void similar(const Json& c, Report& report) {
  if (c.at("kind") == "compare") return CompareCase(c, report);
  if (c.at("kind") == "balance") return BalanceCase(c, report);
  report.Unreadable("unknown kind " + c.at("kind").dump());
}

}  // namespace coppice::replay
