#include "rehearse/played_pools.h"

#include <algorithm>
#include <utility>

#include "base/strings.h"
#include "cloud/cloud_node_claims.h"
#include "model/node_pool_validation.h"
#include "whatif/dump_reader.h"

namespace coppice::rehearse {
namespace {

// The pool refers to a class that there is.
void GiveClass(model::NodePool& pool, PlayedPools& played, std::vector<std::string>& notes) {
  auto& reference = pool.spec.template_.spec.node_class_ref;
  if (!reference) reference.emplace();
  const std::string said =
      reference->kind.empty() ? "a class" : reference->kind + " " + reference->name;
  const bool ours =
      reference->group == cloud::kNodeClassGroup && reference->kind == cloud::kNodeClassKindName;
  if (!ours) {
    const std::string name = reference->name.empty() ? "default" : reference->name;
    *reference = {.group = cloud::kNodeClassGroup, .kind = cloud::kNodeClassKindName, .name = name};
  }
  const bool known = std::ranges::any_of(played.classes, [&](const model::NodeClass& one) {
    return one.metadata.name == reference->name;
  });
  if (known) return;
  model::NodeClass made;
  made.metadata.name = reference->name;
  played.classes.push_back(std::move(made));
  notes.push_back("NodePool " + pool.metadata.name + ": " + said +
                  " is not there, and a class without any wishes is played instead");
}

}  // namespace

Result<PlayedPools> ReadPlayedPools(const std::string& path,
                                    const provision::EngineOptions& options,
                                    std::vector<std::string>& notes) {
  whatif::ClusterObjects objects;
  TRY(whatif::ReadObjectsFrom(path, objects));
  PlayedPools played{.options = options};
  for (const auto& node_class : objects.node_classes) played.classes.push_back(*node_class);
  for (const auto& object : objects.node_pools) {
    model::NodePool pool = *object;
    model::FillDefaults(pool);
    pool.status = {};
    GiveClass(pool, played, notes);
    const auto wrong = model::WrongWith(pool, model::LabelRules::Default());
    if (!wrong.empty()) {
      return InvalidArgument(path + ": NodePool " + pool.metadata.name + ": " + Join(wrong, "; "));
    }
    played.pools.push_back(std::move(pool));
  }
  if (played.pools.empty()) return InvalidArgument(path + ": there is no NodePool in it");
  return played;
}

PlayedPools RecordedPools(const Demand& demand, const provision::EngineOptions& options) {
  PlayedPools played{.options = options};
  std::vector<std::string> notes;  // no class is recorded: all of them are replaced
  for (model::NodePool pool : demand.pools) {
    model::FillDefaults(pool);
    GiveClass(pool, played, notes);
    played.pools.push_back(std::move(pool));
  }
  return played;
}

}  // namespace coppice::rehearse
