// volcano.sh/nodegroup-resource-limits: how much of each node group a queue may use, as JSON:
// {"group": {"cpu": "10", "memory": "20Gi"}}.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "batch/resource.h"
#include "model/batch.h"

namespace coppice::batch::nodegroup {

class Limits {
 public:
  static Limits Of(const model::Queue& queue);
  // From the annotation's text. Outside text: whatever it says, there is an answer.
  static Limits Parse(const std::string& text);

  bool invalid() const { return invalid_; }
  bool empty() const { return groups_.empty(); }
  // Of a resource that is limited there.
  bool Exceeded(const std::string& group, const Resource& used) const;

 private:
  struct Limit {
    Resource resource;
    std::vector<std::string> names;
  };
  bool invalid_ = false;
  std::map<std::string, Limit> groups_;
};

}  // namespace coppice::batch::nodegroup
