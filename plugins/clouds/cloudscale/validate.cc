#include "plugins/clouds/cloudscale/validate.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>

#include "base/strings.h"
#include "plugins/clouds/cloudscale/provider_id.h"

namespace coppice::clouds::cloudscale {
namespace {

constexpr Duration kCatalogTtl = std::chrono::minutes(1);
constexpr int64_t kMinVolumeGb = 10;  // the API's

// An empty list of what everybody can order (zones, flavors, images) says nothing, so nothing is
// said about it.
class Check {
 public:
  Check(const cloud::GroupConfig& group, Catalog& catalog, Deadline deadline)
      : group_(group), catalog_(catalog), deadline_(deadline) {}

  Result<std::vector<std::string>> Run() {
    for (const auto check : {&Check::CheckZone, &Check::CheckFlavor, &Check::CheckImage,
                             &Check::CheckNetworks, &Check::CheckServerGroups}) {
      const Status status = (this->*check)();
      // An API (an emulator, a proxy with a short list) that does not have a collection cannot be
      // asked about it.
      if (!status.ok() && status.code() != Code::kNotFound) return status;
    }
    CheckRest();
    return std::move(mistakes_);
  }

 private:
  template <class... Args>
  void Say(fmt::format_string<Args...> text, Args&&... args) {
    mistakes_.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  static const CatalogItem* Find(const Catalog::Items& items, std::string CatalogItem::* key,
                                 const std::string& value) {
    const auto it = std::ranges::find(*items, value, key);
    return it == items->end() ? nullptr : &*it;
  }

  static std::string Instead(const Catalog::Items& items, std::string CatalogItem::* key,
                             const std::string& value, const std::string& prefix = "") {
    std::vector<std::string> names;
    for (const CatalogItem& item : *items) names.push_back(prefix + item.*key);
    std::ranges::sort(names);
    const std::string nearest = Nearest(value, names);
    if (!nearest.empty()) return fmt::format("; did you mean '{}'?", nearest);
    if (names.empty()) return "; there are none";
    if (names.size() <= 20) return "; there are: " + Join(names, ", ");
    return "";
  }

  // The zone of everything that a server uses must be the server's.
  void CheckOfferedHere(const CatalogItem& item, const std::string& what) {
    if (!zone_known_ || item.zones.empty() ||
        std::ranges::find(item.zones, group_.zone) != item.zones.end()) {
      return;
    }
    Say("{} is not in zone {}, only in {}", what, group_.zone, Join(item.zones, ", "));
  }

  Status CheckZone() {
    const auto regions = TRY(catalog_.Get("regions", deadline_));
    std::vector<std::string> zones;
    for (const CatalogItem& region : *regions) {
      zones.insert(zones.end(), region.zones.begin(), region.zones.end());
    }
    std::ranges::sort(zones);
    zone_known_ = std::ranges::find(zones, group_.zone) != zones.end();
    if (!zone_known_ && !zones.empty()) {
      Say("zone '{}' does not exist at cloudscale.ch; there are: {}", group_.zone,
          Join(zones, ", "));
    }
    return Status::Ok();
  }

  Status CheckFlavor() {
    const auto flavors = TRY(catalog_.Get("flavors", deadline_));
    if (const CatalogItem* flavor = Find(flavors, &CatalogItem::slug, group_.flavor)) {
      CheckOfferedHere(*flavor, fmt::format("flavor '{}'", group_.flavor));
    } else if (!flavors->empty()) {
      Say("flavor '{}' does not exist at cloudscale.ch (the order is memory, then vCPU: flex-8-2 "
          "has 8 GB and 2 vCPU){}",
          group_.flavor, Instead(flavors, &CatalogItem::slug, group_.flavor));
    }
    return Status::Ok();
  }

  Status CheckImage() {
    constexpr std::string_view kCustom = "custom:";
    const bool custom = group_.image.starts_with(kCustom) || IsUuid(group_.image);
    const auto images = TRY(catalog_.Get(custom ? "custom-images" : "images", deadline_));
    const CatalogItem* image =
        IsUuid(group_.image) ? Find(images, &CatalogItem::uuid, group_.image)
                             : Find(images, &CatalogItem::slug,
                                    custom ? group_.image.substr(kCustom.size()) : group_.image);
    if (image != nullptr) {
      CheckOfferedHere(*image, fmt::format("image '{}'", group_.image));
    } else if (custom || !images->empty()) {
      Say("image '{}' does not exist {}{}", group_.image,
          custom ? "among the custom images of this project"
                 : "at cloudscale.ch (one of your own is written custom:<slug>)",
          Instead(images, &CatalogItem::slug, group_.image, custom ? "custom:" : ""));
    }
    return Status::Ok();
  }

  Status CheckNetworks() {
    if (group_.network_uuid.empty()) return Status::Ok();
    const auto networks = TRY(catalog_.Get("networks", deadline_));
    if (const CatalogItem* network = Find(networks, &CatalogItem::uuid, group_.network_uuid)) {
      CheckOfferedHere(*network, fmt::format("network {}", group_.network_uuid));
    } else {
      Say("network {} does not exist in this project{}", group_.network_uuid,
          Instead(networks, &CatalogItem::uuid, group_.network_uuid));
    }
    if (group_.subnet_uuid.empty()) return Status::Ok();
    const auto subnets = TRY(catalog_.Get("subnets", deadline_));
    const CatalogItem* subnet = Find(subnets, &CatalogItem::uuid, group_.subnet_uuid);
    if (subnet == nullptr) {
      Say("subnet {} does not exist in this project{}", group_.subnet_uuid,
          Instead(subnets, &CatalogItem::uuid, group_.subnet_uuid));
    } else if (!subnet->network_uuid.empty() && subnet->network_uuid != group_.network_uuid) {
      Say("subnet {} belongs to network {}, not to {}", group_.subnet_uuid, subnet->network_uuid,
          group_.network_uuid);
    }
    return Status::Ok();
  }

  Status CheckServerGroups() {
    if (group_.server_group_uuids.empty()) return Status::Ok();
    const auto groups = TRY(catalog_.Get("server-groups", deadline_));
    for (const std::string& uuid : group_.server_group_uuids) {
      if (const CatalogItem* found = Find(groups, &CatalogItem::uuid, uuid)) {
        CheckOfferedHere(*found, fmt::format("server group {}", uuid));
      } else {
        Say("server group {} does not exist in this project{}", uuid,
            Instead(groups, &CatalogItem::uuid, uuid));
      }
    }
    return Status::Ok();
  }

  void CheckRest() {
    if (group_.volume_size_gb < kMinVolumeGb) {
      Say("volumeSizeGB is {}, and the smallest volume has {} GB", group_.volume_size_gb,
          kMinVolumeGb);
    }
    if (!simdjson::validate_utf8(group_.user_data)) {
      Say("the user data is not UTF-8, and the API takes no other");
    }
  }

  const cloud::GroupConfig& group_;
  Catalog& catalog_;
  const Deadline deadline_;
  bool zone_known_ = false;
  std::vector<std::string> mistakes_;
};

}  // namespace

Result<Catalog::Items> Catalog::Get(const std::string& what, Deadline deadline) {
  {
    const std::lock_guard lock(mutex_);
    const auto it = entries_.find(what);
    if (it != entries_.end() && clock_.Now() - it->second.fetched_at < kCatalogTtl)
      return it->second.items;
  }
  std::string operation = "list_" + what;
  std::ranges::replace(operation, '-', '_');
  auto items = std::make_shared<std::vector<CatalogItem>>();
  const auto page = [&](std::string_view body) -> Status {
    for (CatalogItem& item : TRY(ParseCatalog(body))) items->push_back(std::move(item));
    return Status::Ok();
  };
  TRY(api_.DoList({.operation = operation.c_str(), .path = what}, deadline, page)
          .Context("listing " + what + " at cloudscale.ch"));
  const std::lock_guard lock(mutex_);
  entries_[what] = {clock_.Now(), items};
  return Items(items);
}

Result<std::vector<std::string>> CheckGroup(const cloud::GroupConfig& group, Catalog& catalog,
                                            Deadline deadline) {
  return Check(group, catalog, deadline).Run();
}

}  // namespace coppice::clouds::cloudscale
