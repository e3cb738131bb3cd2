// Changes: grow, shrink, delete; and what is known after them.

#include <algorithm>
#include <limits>
#include <utility>

#include "base/strings.h"
#include "plugins/node_groups/externalgrpc/client.h"

namespace coppice::node_groups::externalgrpc {

// One change on its way. `done` judges, from a target that was read afterwards, whether a change
// whose answer was lost has happened.
struct Client::Change {
  Method method;
  std::string request;
  int before = 0;  // the target that the caller decided on
  int delta = 0;
  std::function<bool(int target, Deadline deadline)> done;
};

Status Client::Increase(std::string_view group, int delta, Deadline deadline) {
  GroupPtr view = TRY(Find(group));
  if (delta <= 0) return InvalidArgument("an increase must be by at least one machine");
  TRY(LookAgainIfStale(view, deadline));
  const int before = TRY(view->target.Get());
  if (int64_t{before} + delta > view->info.max_size) {
    return FailedPrecondition("group '" + view->info.id + "' cannot grow by " +
                              std::to_string(delta) + " from " + std::to_string(before) +
                              " above its maximum of " + std::to_string(view->info.max_size));
  }
  const Change change{
      .method = Method::kIncreaseSize,
      .request = SizeRequest(view->remote_id, delta),
      .before = before,
      .delta = delta,
      .done = [before, delta](int target, Deadline) { return target >= before + delta; }};
  return Carry(*view, change, deadline);
}

Status Client::IncreaseAtomically(std::string_view group, int, Deadline) {
  TRY(Find(group));
  return Unimplemented("the protocol has no atomic increase");
}

Status Client::DecreaseTarget(std::string_view group, int delta, Deadline deadline) {
  GroupPtr view = TRY(Find(group));
  if (delta >= 0) return InvalidArgument("a decrease must be by at least one machine");
  TRY(LookAgainIfStale(view, deadline));
  const int before = TRY(view->target.Get());
  if (int64_t{before} + delta < 0) {
    return FailedPrecondition("group '" + view->info.id + "' has a target of " +
                              std::to_string(before) + " and cannot shrink by " +
                              std::to_string(-int64_t{delta}));
  }
  const Change change{
      .method = Method::kDecreaseTargetSize,
      .request = SizeRequest(view->remote_id, delta),
      .before = before,
      .delta = delta,
      .done = [before, delta](int target, Deadline) { return target <= before + delta; }};
  return Carry(*view, change, deadline);
}

Status Client::Delete(std::string_view group, const std::vector<cloud::NodeRef>& nodes,
                      Deadline deadline) {
  const GroupPtr view = TRY(Find(group));
  if (nodes.empty()) {
    return InvalidArgument("no node of group '" + view->info.id + "' is named: nothing to delete");
  }
  TRY(CheckOwnership(*view, nodes, deadline));
  const int before = TRY(view->target.Get());
  const Change change{.method = Method::kDeleteNodes,
                      .request = DeleteRequest(view->remote_id, nodes),
                      .before = before,
                      .delta = -static_cast<int>(nodes.size()),
                      .done = [this, &view, &nodes](int, Deadline until) {
                        return AllGone(view->remote_id, nodes, until);
                      }};
  TRY(Carry(*view, change, deadline));
  ChangeGroup(view->remote_id,
              [&](GroupView& changed) { changed.MarkDeleted(nodes, NextTicket()); });
  return Status::Ok();
}

// The rule everywhere: judged whole, and nothing is deleted that is not known to be this group's.
Status Client::CheckOwnership(const GroupView& view, const std::vector<cloud::NodeRef>& nodes,
                              Deadline deadline) {
  for (const cloud::NodeRef& node : nodes) {
    const std::string who = "node '" + node.name + "' (" + node.provider_id + ")";
    if (node.provider_id.empty() && node.name.empty()) {
      return InvalidArgument("a node without provider id and name cannot be deleted");
    }
    const auto owner = AskOwner(node, deadline);
    if (!owner.ok()) {
      return owner.status().Context(who + " is not deleted, its group is not known");
    }
    if (*owner == view.info.id) continue;
    return FailedPrecondition(who + " is not deleted: it belongs to " +
                              (owner->has_value() ? "group '" + **owner + "'" : "no group") +
                              " and not to '" + view.info.id + "'");
  }
  return Status::Ok();
}

// A decision that was made on an old target is not carried out: it may have been met already.
Status Client::LookAgainIfStale(GroupPtr& view, Deadline deadline) {
  if (!view->target.stale()) return Status::Ok();
  auto attempt = AskTarget(view->remote_id, ReadDeadline(deadline));
  view->Judge(attempt);
  ChangeGroup(view->remote_id, [&](GroupView& changed) { changed.target.Take(attempt); });
  if (!attempt.result->ok()) {
    return attempt.result->status().Context("group '" + view->info.id +
                                            "' is not changed, its target is stale");
  }
  const int before = *view->target.value;
  if (**attempt.result == before) return Status::Ok();
  return Status(Code::kAborted, "group '" + view->info.id + "' has a target of " +
                                    std::to_string(**attempt.result) + " and not of " +
                                    std::to_string(before) + " as was last known: decide again");
}

Status Client::Carry(const GroupView& view, const Change& change, Deadline deadline) {
  // Some of the time is kept to look at what came of it.
  const Duration left = deadline.at == TimePoint::max() ? config()->mutation_timeout * 2
                                                        : deadline.Left(parts_.clock);
  const Duration reserve = std::min(config()->grpc_timeout, left / 5);
  const Deadline until =
      Deadline::In(parts_.clock, std::min(config()->mutation_timeout, left - reserve));
  const auto answer = remote_.Call(change.method, change.request, until);
  auto attempt = AskTarget(view.remote_id, ReadDeadline(deadline));
  view.Judge(attempt);

  Status status = answer.status();
  if (!status.ok() && OutcomeUnknown(status.code()) && attempt.result->ok() &&
      change.done(**attempt.result, ReadDeadline(deadline))) {
    parts_.log.Warning("the provider's answer was lost, but what it was asked for is done",
                       {{"provider", parts_.name},
                        {"group", view.info.id},
                        {"method", NameOf(change.method)},
                        {"error", status.ToString()}});
    status = Status::Ok();
  }
  ChangeGroup(view.remote_id, [&](GroupView& changed) {
    const bool told = changed.target.Take(attempt);
    if (!status.ok() || !changed.target.known()) return;
    const int expected = std::max(change.before + change.delta, 0);
    int& target = *changed.target.value;
    // Done, whatever the target says: there are providers that count from their last Refresh. Too
    // low would order the same machines again.
    if (change.delta > 0) target = std::max(target, expected);
    // Of what was taken away some may not have counted, so here the provider is believed if it
    // says. A Refresh that ran beside us may have seen it or not: this is right in both cases.
    if (change.delta < 0 && !told) target = std::min(target, expected);
  });
  return status;
}

bool Client::AllGone(const std::string& remote_id, const std::vector<cloud::NodeRef>& nodes,
                     Deadline deadline) {
  const auto attempt = AskInstances(remote_id, deadline);
  if (!attempt.result->ok()) return false;
  return std::ranges::all_of(nodes, [&](const cloud::NodeRef& node) {
    const auto& list = ***attempt.result;
    const auto it = std::ranges::find(list, node.provider_id, &cloud::Instance::id);
    return it == list.end() || it->state == cloud::InstanceState::kDeleting;
  });
}

void Client::ChangeGroup(const std::string& remote_id,
                         const std::function<void(GroupView&)>& change) {
  const std::lock_guard lock(publish_mutex_);
  const auto current = picture_.Load();
  const auto same = [&](const GroupPtr& group) { return group->remote_id == remote_id; };
  const auto known = std::ranges::find_if(current->groups, same);
  if (known == current->groups.end()) return;  // gone meanwhile
  auto view = std::make_shared<GroupView>(**known);
  change(*view);
  auto next = std::make_shared<Picture>(*current);  // its index stays right: no machine came
  next->groups[static_cast<size_t>(known - current->groups.begin())] = std::move(view);
  ++next->version;
  picture_.Store(std::move(next));
}

Status Client::Cleanup() {
  const auto answer =
      remote_.Call(Method::kCleanup, "", Deadline::In(parts_.clock, config()->grpc_timeout));
  return answer.code() == Code::kUnimplemented ? Status::Ok() : answer.status();
}

}  // namespace coppice::node_groups::externalgrpc
