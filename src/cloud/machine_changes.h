// MachineChanges: what a cloud in this process is, beside Cloud, that can say which of its machines have
// changed since it was last asked: whoever looks at thousands of them every few seconds then need not
// read them all.

#pragma once

#include <optional>
#include <vector>

#include "cloud/types.h"

namespace coppice::cloud {

struct MachineChange {
  ProviderId id;
  std::optional<Machine> now;  // absent: not listed any more
};

class MachineChanges {
 public:
  virtual ~MachineChanges() = default;
  // Of each machine that came, went or is in another state than at the last call, what a list would
  // say of it now, in the order of their ids; the first call tells of all. For one who asks: what was
  // told is not told again.
  virtual std::vector<MachineChange> TakeChanges() = 0;
};

}  // namespace coppice::cloud
