// Any bytes as the answer to any question: a value that holds to what NodeGroups promises, or a
// failure with a text.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>

#include "plugins/node_groups/externalgrpc/messages.h"

namespace {

using namespace coppice;
using namespace coppice::node_groups::externalgrpc;

void Require(bool condition) {
  if (!condition) std::abort();
}

template <class T>
bool Good(const Result<T>& result) {
  if (!result.ok()) Require(!result.status().message().empty());
  return result.ok();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  Oddities oddities;
  if (const auto groups = ReadGroups(bytes, oddities); Good(groups)) {
    std::set<std::string> ids;
    for (const auto& group : *groups) {
      Require(!group.id.empty() && ids.insert(group.id).second);
      Require(group.min_size >= 0 && group.min_size <= group.max_size);
    }
  }
  if (const auto instances = ReadInstances(bytes, oddities); Good(instances)) {
    std::set<std::string> ids;
    for (const auto& instance : *instances) {
      Require(!instance.id.empty() && ids.insert(instance.id).second);
      const int state = static_cast<int>(instance.state);
      Require(state >= 0 && state <= 3);
      if (instance.error) Require(instance.state == cloud::InstanceState::kCreating);
    }
  }
  if (const auto target = ReadTargetSize(bytes); Good(target)) Require(*target >= 0);
  if (const auto price = ReadPrice(bytes); Good(price))
    Require(*price >= 0 && std::isfinite(*price));
  if (const auto options = ReadOptions(bytes, {}); Good(options) && options->has_value()) {
    Require((*options)->scale_down_utilization_threshold >= 0);
    Require((*options)->scale_down_unneeded_time >= Duration::zero());
    Require((*options)->max_node_provision_time >= Duration::zero());
  }
  if (const auto node = ReadTemplateBytes(bytes); Good(node)) {
    (void)Good(ReadTemplate(*node, oddities));
  }
  (void)Good(ReadTemplate(bytes, oddities));
  (void)Good(ReadGroupOfNode(bytes));
  (void)Good(ReadGpuLabel(bytes));
  (void)Good(ReadGpuTypes(bytes));
  for (const std::string& oddity : oddities) Require(!oddity.empty());
  return 0;
}
