// Start-up check of a group against what the API offers: a mistake in the file is found before the
// first pod waits for it.

#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cloud/cloud.h"
#include "plugins/clouds/cloudscale/api.h"
#include "plugins/clouds/cloudscale/messages.h"

namespace coppice::clouds::cloudscale {

// The lists that a check reads, each asked for once a minute at most: two hundred groups are
// checked in a row.
class Catalog {
 public:
  Catalog(Api& api, Clock& clock) : api_(api), clock_(clock) {}

  using Items = std::shared_ptr<const std::vector<CatalogItem>>;
  // `what` is a collection of the API: flavors, images, custom-images, regions, networks, ...
  Result<Items> Get(const std::string& what, Deadline deadline);

 private:
  struct Entry {
    TimePoint fetched_at;
    Items items;
  };

  Api& api_;
  Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, Entry> entries_;
};

// A sentence per mistake, each with what is there instead. An error: the check could not be made.
Result<std::vector<std::string>> CheckGroup(const cloud::GroupConfig& group, Catalog& catalog,
                                            Deadline deadline);

}  // namespace coppice::clouds::cloudscale
