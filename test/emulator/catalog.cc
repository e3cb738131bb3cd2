#include "test/emulator/catalog.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace coppice::emulator {
namespace {

using Json = nlohmann::json;

const Json kBothZones = Json::array({{{"slug", "rma1"}}, {{"slug", "lpg1"}}});
const Json kRmaOnly = Json::array({{{"slug", "rma1"}}});

// Memory comes first in a slug: flex-8-2 has 8 GB and 2 vCPU.
Json Flavor(const std::string& family, int memory_gb, int vcpus) {
  return {{"slug", fmt::format("{}-{}-{}", family, memory_gb, vcpus)},
          {"name", fmt::format("{}-{}-{}", family, memory_gb, vcpus)},
          {"vcpu_count", vcpus},
          {"memory_gb", memory_gb},
          {"gpu", nullptr},
          {"zones", kBothZones}};
}

Json Image(const std::string& slug, const std::string& name, const std::string& system,
           const std::string& user) {
  return {{"slug", slug},
          {"name", name},
          {"operating_system", system},
          {"default_username", user},
          {"zones", kBothZones}};
}

}  // namespace

Json Flavors() {
  Json all = Json::array();
  for (const auto& [memory, cpus] : {std::pair{4, 1}, {4, 2}, {8, 2}, {8, 4}, {16, 4}, {32, 8}}) {
    all.push_back(Flavor("flex", memory, cpus));
  }
  for (const auto& [memory, cpus] : {std::pair{8, 4}, {16, 8}, {64, 32}, {192, 96}}) {
    all.push_back(Flavor("plus", memory, cpus));
  }
  Json gpu = Flavor("gpu2", 128, 16);
  gpu["slug"] = gpu["name"] = "gpu2-128-16-1-200";
  gpu["gpu"] = {
      {"name", "NVIDIA L40S"}, {"count", 1}, {"vram_per_gpu_gb", 48}, {"total_vram_gb", 48}};
  gpu["zones"] = kRmaOnly;
  all.push_back(gpu);
  return all;
}

Json Images() {
  return Json::array({Image("debian-11", "Debian 11", "Debian", "debian"),
                      Image("debian-12", "Debian 12", "Debian", "debian"),
                      Image("ubuntu-24.04", "Ubuntu 24.04 LTS", "Ubuntu", "ubuntu"),
                      Image("flatcar", "Flatcar", "Flatcar", "core")});
}

Json CustomImages() {
  return Json::array(
      {{{"uuid", "11111111-1111-4111-8111-111111111111"},
        {"href", "https://api.cloudscale.ch/v1/custom-images/11111111-1111-4111-8111-111111111111"},
        {"slug", "talos"},
        {"name", "Talos Linux"},
        {"size_gb", 4},
        {"checksums", Json::object()},
        {"user_data_handling", "pass-through"},
        {"firmware_type", "uefi"},
        {"zones", kBothZones},
        {"tags", Json::object()},
        {"created_at", "2026-01-01T00:00:00.000000Z"}}});
}

Json Regions() {
  return Json::array({{{"slug", "rma"}, {"zones", Json::array({{{"slug", "rma1"}}})}},
                      {{"slug", "lpg"}, {"zones", Json::array({{{"slug", "lpg1"}}})}}});
}

Json FindIn(const Json& list, const std::string& key, const std::string& value) {
  for (const Json& item : list) {
    if (item.value(key, "") == value) return item;
  }
  return nullptr;
}

bool OfferedIn(const Json& item, const std::string& zone) {
  return !FindIn(item.at("zones"), "slug", zone).is_null();
}

}  // namespace coppice::emulator
