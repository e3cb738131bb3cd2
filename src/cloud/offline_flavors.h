// OfflineFlavors: what a cloud is, beside Cloud, whose Flavors() and Validate() answer without the
// network. `coppice validate` then asks them, too.

#pragma once

namespace coppice::cloud {

class OfflineFlavors {
 public:
  virtual ~OfflineFlavors() = default;
};

}  // namespace coppice::cloud
