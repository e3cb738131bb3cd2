// BindDelegate: somebody outside who puts pods on nodes in the scheduler's place.
//
// Outlives the session that chose it: bindings go on between sessions. Any thread; the caller
// waits.

#pragma once

#include <string>

#include "batch/outcome.h"

namespace coppice::batch {

class BindDelegate {
 public:
  virtual ~BindDelegate() = default;

  // Ok: it has bound the pod, says it. kFailedPrecondition: it will not. Anything else: nobody knows
  // whether it has.
  virtual Status Bind(const Outcome::Bind& bind) const = 0;
  // If it cannot be had, the scheduler binds the pod itself.
  virtual bool ignorable() const = 0;
  virtual std::string name() const = 0;
};

}  // namespace coppice::batch
