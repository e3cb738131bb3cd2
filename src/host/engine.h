// Engine: what the process asks of whoever decides about the cluster. Several take turns on one
// thread and one World (turns.h); none knows of another.
//
// Decision thread.

#pragma once

#include <string_view>

#include "base/clock.h"
#include "base/task.h"
#include "model/pod.h"

namespace coppice::host {

// What engines are told between their turns.
struct Event {
  enum class Kind {
    kPodWaits,        // a pod without a node is new, or was marked unschedulable
    kPodGone,         // a pod went, or has ended
    kNodesChanged,    // a node came, went, changed its readiness, or it or a pod on it may now go
    kObjectsChanged,  // objects of a kind that an engine has asked for came, went or changed
  };
  Kind kind;
  const model::Pod* pod = nullptr;  // kPodWaits
};

// How a pass went, for the health of the process; what was decided is the engine's to tell.
struct PassEnd {
  bool succeeded = true;
};

class Engine {
 public:
  virtual ~Engine() = default;

  virtual std::string_view name() const = 0;

  // When it wants its next turn, as far as it knows now. Asked whenever something may have changed
  // it: cheap.
  virtual TimePoint Due() const = 0;

  // One pass; the next begins after its end. While it is suspended others may take their turn, so
  // that it leaves no fork of the World's snapshot open then: one that is found ends the process.
  virtual Task<PassEnd> Pass(TimePoint now) = 0;

  // True if that may have hastened Due().
  virtual bool Told(const Event& event, TimePoint now) = 0;

  // Whether nobody else may have a turn: before a pass, whether it has to be alone to begin; in
  // one, whether it has to be alone still. Whoever changes the answer in mid-pass says so to
  // Turns::LookAgain().
  virtual bool keeps_others_out() const { return false; }
};

}  // namespace coppice::host
