// kwok: node pools without machines, as Karpenter's provider of that name has them. Instance types
// are its 144, or those of a file: `instanceTypesFile` of the configuration, or the peer's variable
// INSTANCE_TYPES_FILE_PATH.

#include <cstdlib>
#include <memory>

#include "cloud/catalog.h"
#include "cloud/node_claims.h"
#include "plugins/node_claims/kwok/kwok_claims.h"

namespace coppice::node_claims::kwok {
namespace {

Result<std::unique_ptr<cloud::NodeClaims>> Make(const cloud::NodeClaimsContext& context) {
  yaml::MapReader map(context.config, context.problems);
  map.Get("kind");
  std::string file;
  if (!map.Read("instanceTypesFile", file)) {
    if (const char* named = std::getenv("INSTANCE_TYPES_FILE_PATH")) file = named;
  }
  map.Finish();
  if (context.problems.has_errors()) return context.problems.ToStatus();
  if (file.empty()) {
    return std::unique_ptr<cloud::NodeClaims>(
        std::make_unique<KwokClaims>(cloud::KwokCatalog(), context.clock));
  }
  const cloud::Catalog catalog = TRY(cloud::ReadCatalog(file).Context("the catalog of kwok"));
  return std::unique_ptr<cloud::NodeClaims>(std::make_unique<KwokClaims>(catalog, context.clock));
}

}  // namespace

void Register(cloud::NodeClaimsRegistry& registry) { registry.Add("kwok", Make); }

}  // namespace coppice::node_claims::kwok
