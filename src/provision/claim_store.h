// ClaimStore: NodeClaims as new as we know them, and every write to them.
//
// What the World shows is behind what was written a moment ago. Whoever decides on the old state
// launches twice or deletes what was just repaired; so the answer of each write is kept until the
// World has caught up. A claim that was created is there at once, one that was deleted is deleting
// at once.
//
// Patches are the difference between two values, so that what we do not know of an object stays.
// One that touches a list carries the version that it was made from: kAborted means that somebody
// else was faster, and the caller looks again.
//
// Decision thread.

#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "provision/context.h"

namespace coppice::provision {

class ClaimStore {
 public:
  explicit ClaimStore(Context& context) : context_(context) {}

  // Those of kinds that we support, by name.
  std::vector<ClaimPtr> List();
  // What the solver reads of them, in the same order; made once per claim as it is.
  using FactsPtr = std::shared_ptr<const ClaimFacts>;
  std::vector<FactsPtr> Facts();
  // Null if there is none of this name.
  ClaimPtr Find(std::string_view name);
  // The same, but only if it is still that one.
  ClaimPtr Find(const model::NodeClaim& claim);

  // kAlreadyExists counts as created if it carries our mark: an attempt whose answer was lost.
  Task<Result<ClaimPtr>> Create(model::NodeClaim claim);
  // Writes what `after` has otherwise than `before`: metadata, and then the status. kNotFound: it
  // is gone.
  Task<Status> Write(ClaimPtr before, model::NodeClaim after);
  // OK also if it is gone.
  Task<Status> Delete(ClaimPtr claim);
  Task<Status> RemoveFinalizer(ClaimPtr claim);

  // Of a dry run: one that was never there.
  void Forget(const ClaimPtr& claim) {
    own_.erase(claim->metadata.name);
    ++changes_;
  }

  // Asks after claims that we have written and the World has never shown, and after those whose
  // creation nobody has answered.
  void LookAfterUnseen();
  // Of which a claim may be there that we do not know: its creation got no answer.
  std::set<std::string> UnsurePools() const;
  // Of a claim, by name.
  bool IsUnsure(std::string_view name) const { return unsure_.contains(name); }

 private:
  struct Own {
    ClaimPtr claim;
    TimePoint at;
    bool asked = false;
  };
  void Keep(ClaimPtr claim);
  std::vector<ClaimPtr> ListAnew();
  ClaimPtr Merged(std::string_view name, ClaimPtr shown);
  Task<void> AskFor(std::string name);
  struct Unsure {
    std::string pool;
    TimePoint since;
    TimePoint asked_at;
    bool asking = false;
  };
  void LookAfterUnsure();
  Task<void> AskWhether(std::string name);

  Context& context_;
  // The list, for as long as neither the World's claims nor what is below changes.
  std::vector<ClaimPtr> list_;
  std::optional<uint64_t> listed_version_;
  uint64_t listed_changes_ = 0;
  std::vector<ClaimPtr> facts_of_;
  std::vector<FactsPtr> facts_;
  uint64_t changes_ = 0;
  std::map<std::string, Own, std::less<>> own_;            // by name
  std::map<std::string, Unsure, std::less<>> unsure_;      // by name
  std::map<std::string, TimePoint, std::less<>> deleted_;  // by uid: when we asked for it
  std::map<std::string, TimePoint, std::less<>> gone_;     // by uid: its end was answered
};

cluster::ObjectName NameOf(const model::NodeClaim& claim);
cluster::ObjectName NameOf(const model::NodePool& pool);
cluster::ObjectName NameOf(const model::Node& node);

// Whether one resourceVersion of an object is older than another; what cannot be compared is not.
bool IsOlderVersion(const std::string& version, const std::string& than);

// A merge patch that makes `after` of `before` (JSON objects as text); "" if they are equal.
std::string MergePatch(const std::string& before, const std::string& after);

}  // namespace coppice::provision
