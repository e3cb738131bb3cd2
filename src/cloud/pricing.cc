#include "cloud/pricing.h"

#include <algorithm>

#include "cloud/template.h"
#include "model/resources.h"

namespace coppice::cloud {

namespace {

// The largest share of what the machine offers; nullopt if it does not offer enough of something.
std::optional<double> ShareOf(const Flavor& flavor, const model::PodRequests& wanted) {
  double share = 0;
  const auto take = [&share](int64_t asked, int64_t offered) {
    if (asked > offered) return false;
    if (asked > 0)
      share = std::max(share, static_cast<double>(asked) / static_cast<double>(offered));
    return true;
  };
  const bool fits = take(wanted.cpu_millis, flavor.cpu_millis) &&
                    take(wanted.memory_bytes, flavor.memory_bytes) &&
                    take(wanted.Extended(kGpuResource), flavor.gpu_count);
  return fits ? std::optional(share) : std::nullopt;
}

}  // namespace

std::optional<double> NodePricePerHour(const GroupsPicture& picture, const NodeRef& node,
                                       const std::map<std::string, std::string>& labels) {
  if (const GroupView* group = picture.FindByMachine(node.provider_id))
    return group->price_per_hour;
  for (const char* key : {"node.kubernetes.io/instance-type", "beta.kubernetes.io/instance-type"}) {
    const auto label = labels.find(key);
    if (label == labels.end()) continue;
    // A group's own price before the flavor's list price.
    for (const auto& group : picture.groups) {
      if (group->config->flavor == label->second && group->price_per_hour) {
        return group->price_per_hour;
      }
    }
    if (picture.flavors == nullptr) continue;
    const auto flavor = picture.flavors->find(label->second);
    if (flavor != picture.flavors->end()) return flavor->second.price_per_hour;
  }
  return std::nullopt;
}

std::optional<double> PodPricePerHour(const GroupsPicture& picture, const model::Pod& pod) {
  if (picture.flavors == nullptr) return std::nullopt;
  const model::PodRequests wanted = model::IncomingRequests(pod);
  std::optional<double> cheapest;
  for (const auto& group : picture.groups) {
    const auto flavor = picture.flavors->find(group->config->flavor);
    if (flavor == picture.flavors->end() || !group->price_per_hour) continue;
    const auto share = ShareOf(flavor->second, wanted);
    if (!share) continue;
    const double price = *share * *group->price_per_hour;
    cheapest = cheapest ? std::min(*cheapest, price) : price;
  }
  return cheapest;
}

std::optional<double> FlavorPricePerHour(const Flavor& flavor, std::string_view zone,
                                         std::string_view capacity_type) {
  const std::string_view way = capacity_type.empty() ? kOnDemandCapacity : capacity_type;
  for (const FlavorOffering& offering : flavor.offerings) {
    const bool here = offering.zone.empty() || offering.zone == zone;  // "": every zone
    if (here && offering.capacity_type == way)
      return offering.price_per_hour ? offering.price_per_hour : flavor.price_per_hour;
  }
  return flavor.price_per_hour;
}

double Hours(TimePoint start, TimePoint end) {
  if (end <= start) return 0;
  return std::chrono::duration<double, std::ratio<3600>>(end - start).count();
}

}  // namespace coppice::cloud
