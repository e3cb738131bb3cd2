// A catalog: instance types in a file, as Karpenter's provider without machines (kwok) reads it. Its
// own default, 144 types, is made here.
//
//   [{"name": "c-4x-amd64-linux", "architecture": "amd64", "operatingSystems": ["linux"],
//     "resources": {"cpu": "4", "memory": "8Gi", "ephemeral-storage": "20Gi", "pods": "64"},
//     "offerings": [{"Price": 0.1, "Available": true,
//                    "Requirements": [{"key": "karpenter.sh/capacity-type", "operator": "In",
//                                      "values": ["spot"]}, …zone…]}]}]
//
// Keys of an offering may begin with a small letter, too. Other than the peer we honour Available,
// want a zone and a capacity type in every offering, and refuse the same offering twice: a catalog
// with such a mistake would be bought from in surprising ways.
//
// Pure functions.

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "cloud/instance_type.h"
#include "cloud/types.h"
#include "model/requirement.h"

namespace coppice::cloud {

struct CatalogOffering {
  double price = 0;
  bool available = true;
  int64_t reservation_capacity = 0;
  std::vector<model::RequirementSpec> requirements;
  friend bool operator==(const CatalogOffering&, const CatalogOffering&) = default;
};

struct CatalogType {
  std::string name;
  std::string architecture = "amd64";
  std::vector<std::string> operating_systems = {"linux"};
  model::ResourceList resources;
  std::vector<CatalogOffering> offerings;
  friend bool operator==(const CatalogType&, const CatalogType&) = default;
};

using Catalog = std::vector<CatalogType>;

// JSON (or YAML). InvalidArgument with every complaint, one per line: file, line, column.
Result<Catalog> ParseCatalog(std::string_view text, const std::string& file_name);
Result<Catalog> ReadCatalog(const std::string& path);

// The default: 12 sizes of 3 families, two architectures and two systems, in four zones, spot and
// on-demand.
const Catalog& KwokCatalog();

// Labels that only this catalog's nodes have, and the fixed share of the kubelet.
inline constexpr char kKwokSizeLabel[] = "karpenter.kwok.sh/instance-size";
inline constexpr char kKwokFamilyLabel[] = "karpenter.kwok.sh/instance-family";
inline constexpr char kKwokCpuLabel[] = "karpenter.kwok.sh/instance-cpu";
inline constexpr char kKwokMemoryLabel[] = "karpenter.kwok.sh/instance-memory";

// As kwok makes it: with its labels and its overhead (100m cpu, 10Mi memory).
InstanceType TypeOfCatalog(const CatalogType& entry);
// As a cloud of the four verbs sells it. Reservations and labels of its own are lost.
Flavor FlavorOfCatalog(const CatalogType& entry);

}  // namespace coppice::cloud
