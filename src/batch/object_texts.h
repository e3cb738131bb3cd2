// ObjectTexts: Kubernetes objects as the API server wrote them, for whoever has to show them whole.
//
// The model keeps what scheduling reads; an extender is sent the object with everything in it.
// Whoever feeds a session keeps the texts if somebody will ask for them.

#pragma once

#include <string_view>

#include "model/node.h"
#include "model/pod.h"

namespace coppice::batch {

class ObjectTexts {
 public:
  virtual ~ObjectTexts() = default;
  // One JSON object, members in the order of the API's types. Empty: not kept, and what the model
  // knows is shown instead. Good as long as the object is.
  virtual std::string_view TextOf(const model::Pod& pod) const = 0;
  virtual std::string_view TextOf(const model::Node& node) const = 0;
};

}  // namespace coppice::batch
