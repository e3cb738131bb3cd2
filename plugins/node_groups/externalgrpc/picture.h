// Picture: what the provider last said, as one immutable value that every read is answered from.
//
// Of each answer the last good one is kept, with when it was asked for and why the newest attempt
// failed, if it did: then it is stale, and stays in use. Which of two answers is newer is decided
// by tickets drawn before the question goes out, so that a slow answer never undoes a later one.

#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/status.h"
#include "cloud/node_groups.h"
#include "model/objects.h"
#include "plugins/node_groups/externalgrpc/remote.h"

namespace coppice::node_groups::externalgrpc {

// What one attempt to ask brought. Without a result it was not asked: the time was over.
template <class T>
struct Attempt {
  uint64_t ticket = 0;
  TimePoint at;
  std::optional<Result<T>> result;
};

template <class T>
struct Kept {
  std::optional<T> value;  // the last good answer
  TimePoint at;            // when it was asked for
  uint64_t ticket = 0;
  TimePoint tried_at;  // the newest attempt
  Status failure;      // why that failed

  bool known() const { return value.has_value(); }
  bool stale() const { return known() && !failure.ok(); }
  // Whether it is time to ask again what is believed for `ttl`.
  bool Due(TimePoint now, Duration ttl) const {
    if (tried_at == TimePoint()) return true;
    const bool lacking = failure.code() == Code::kUnimplemented;
    return (!failure.ok() && !lacking) ||
           now >= Later(tried_at, lacking ? std::max(ttl, kUnimplementedTtl) : ttl);
  }
  Result<T> Get() const {
    if (known()) return *value;
    return failure.ok() ? Unavailable("the provider has not been asked yet") : failure;
  }
  // Whether the answer was taken over.
  bool Take(const Attempt<T>& attempt) {
    if (!attempt.result) {
      failure = DeadlineExceeded("the refresh ended before it was asked");
      return false;
    }
    if (attempt.ticket < ticket) return false;
    tried_at = attempt.at;
    failure = attempt.result->status();
    if (!attempt.result->ok()) return false;
    value = **attempt.result;
    at = attempt.at;
    ticket = attempt.ticket;
    return true;
  }
};

using Instances = std::shared_ptr<const std::vector<cloud::Instance>>;

struct NodeTemplate {
  std::shared_ptr<const std::string> bytes;  // as they came: the same bytes are the same node
  std::shared_ptr<const model::Node> node;
};

struct GroupView {
  cloud::GroupInfo info;  // its id is ours, with the prefix
  std::string remote_id;  // the provider's
  Kept<int> target;
  Kept<Instances> instances;
  Kept<NodeTemplate> node_template;
  Kept<std::optional<cloud::ScalingOptions>> options;  // with the picture's options_defaults
  // Machines whose deletion was agreed to after `instances` was asked for, with their tickets.
  std::vector<std::pair<std::string, uint64_t>> deleted;

  // Only a group that can be answered for is listed: one that never could would stop the loop of
  // all others.
  bool complete() const { return target.known() && instances.known(); }
  bool stale() const { return target.stale() || instances.stale(); }
  TimePoint oldest() const { return std::min(target.at, instances.at); }

  // A target that no group of this size can have is no answer.
  void Judge(Attempt<int>& attempt) const;
  void TakeInstances(const Attempt<Instances>& attempt);
  void MarkDeleted(const std::vector<cloud::NodeRef>& nodes, uint64_t ticket);
};
using GroupPtr = std::shared_ptr<const GroupView>;

// Provider id to the index of its group. Views into lists that it keeps alive.
struct IdIndex {
  std::vector<Instances> lists;
  std::unordered_map<std::string_view, uint32_t> groups;
};

struct Picture {
  uint64_t version = 0;
  bool attempted = false;  // a Refresh has ended, well or not
  bool read = false;       // one has ended well
  TimePoint read_at;       // when the newest of those began
  Status failure;          // of the newest Refresh
  std::vector<GroupPtr> groups;
  std::map<std::string, uint32_t, std::less<>> by_name;    // our ids
  std::map<std::string, uint32_t, std::less<>> by_remote;  // the provider's
  std::shared_ptr<const IdIndex> ids = std::make_shared<const IdIndex>();
  cloud::ScalingOptions options_defaults;
  Kept<std::string> gpu_label;
  Kept<std::vector<std::string>> gpu_types;

  GroupPtr Find(std::string_view group) const;  // null: not listed
  GroupPtr FindRemote(std::string_view remote_id) const;
  GroupPtr FindByMachine(std::string_view id) const;

  // After `groups` has changed. The index of machines is made anew only if a list of them has.
  void Index();
  size_t stale_groups() const;
};

}  // namespace coppice::node_groups::externalgrpc
