#include "model/meta.h"

#include <algorithm>

namespace coppice::model {

const OwnerReference* ControllerOf(const ObjectMeta& meta) {
  const auto it = std::ranges::find_if(meta.owner_references, [](const OwnerReference& owner) {
    return owner.controller.value_or(false);
  });
  return it == meta.owner_references.end() ? nullptr : &*it;
}

}  // namespace coppice::model
