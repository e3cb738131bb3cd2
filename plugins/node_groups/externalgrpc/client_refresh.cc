// Refresh: everything that a pass needs, asked in parallel, merged into the next picture.

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <utility>

#include "base/go_duration.h"
#include "plugins/node_groups/externalgrpc/client.h"
#include "plugins/node_groups/externalgrpc/sweep.h"

namespace coppice::node_groups::externalgrpc {

struct Client::GroupAnswers {
  cloud::GroupInfo info;  // with the provider's own id
  GroupPtr before;        // null: new
  Attempt<int> target;
  Attempt<externalgrpc::Instances> instances;
  std::optional<Attempt<NodeTemplate>> node_template;  // unset: not due
  std::optional<Attempt<MaybeOptions>> options;
};

struct Client::RefreshState {
  Deadline deadline;
  TimePoint began;
  uint64_t generation = 0;
  std::shared_ptr<const Picture> before;
  cloud::ScalingOptions defaults;
  std::vector<GroupAnswers> groups;
  std::optional<Attempt<std::string>> gpu_label;
  std::optional<Attempt<std::vector<std::string>>> gpu_types;
  bool over = false;  // the time was, when all groups had been asked
};

namespace {

// A call that its deadline ends may come back a little before it.
constexpr Duration kAboutNow = std::chrono::milliseconds(10);

Deadline Share(const Clock& clock, Deadline whole, Duration most, int parts, int of) {
  const Duration left = whole.at == TimePoint::max() ? most : whole.Left(clock) / of * parts;
  return Deadline::In(clock, std::min(left, most)).Earlier(whole);
}

// Groups that we know keep their places and new ones follow: there are providers that list from an
// unordered map, and engines rely on the order.
std::vector<cloud::GroupInfo> InStableOrder(std::vector<cloud::GroupInfo> listed,
                                            const Picture& before) {
  std::map<std::string_view, size_t> places;
  for (const GroupPtr& group : before.groups) places.emplace(group->remote_id, places.size());
  std::ranges::stable_sort(listed, {}, [&](const cloud::GroupInfo& info) {
    const auto it = places.find(info.id);
    return it == places.end() ? places.size() : it->second;
  });
  return listed;
}

std::string Ago(TimePoint since, TimePoint now) {
  return FormatGoDuration(std::chrono::round<std::chrono::seconds>(now - since));
}

}  // namespace

// Callers that come while one runs share the next one, which begins after all of them have asked.
Status Client::Refresh(Deadline deadline) {
  uint64_t mine = 0;
  {
    std::unique_lock lock(refresh_mutex_);
    const uint64_t wanted = started_ + 1;
    while (refreshing_) {
      if (!parts_.clock.WaitUntil(lock, refreshed_, deadline.at,
                                  [&] { return !refreshing_ || finished_ >= wanted; })) {
        return DeadlineExceeded("another refresh of provider '" + parts_.name +
                                "' has not ended yet");
      }
      if (finished_ >= wanted) return last_refresh_;
    }
    if (finished_ >= wanted) return last_refresh_;
    refreshing_ = true;
    mine = ++started_;
  }
  const Status status = RefreshNow(deadline);
  const std::lock_guard lock(refresh_mutex_);
  refreshing_ = false;
  finished_ = mine;
  last_refresh_ = status;
  refreshed_.notify_all();
  return status;
}

Status Client::RefreshNow(Deadline deadline) {
  RefreshState state{.deadline = deadline,
                     .began = Now(),
                     .generation = generation_ + 1,
                     .before = picture_.Load()};
  {
    const std::lock_guard lock(wanted_mutex_);
    state.defaults = wanted_defaults_;
  }
  if (parts_.look) {
    if (auto changed = parts_.look())
      config_.Store(std::make_shared<const CloudConfig>(*std::move(changed)));
  }
  Status status = AskForRefresh(deadline);
  if (status.ok()) status = ListGroups(state);
  if (!status.ok()) return Failed(status);
  Sweep(PlanOf(state));
  state.over = state.deadline.Left(parts_.clock) < kAboutNow;
  Sweep(NewNodesOf(state));
  return Publish(state);
}

Status Client::AskForRefresh(Deadline deadline) {
  if (remote_.Lacks(Method::kRefresh)) return Status::Ok();
  const auto answer = remote_.Call(Method::kRefresh, "",
                                   Share(parts_.clock, deadline, config()->refresh_timeout, 2, 3));
  // A provider without it has nothing to make fresh: what it answers is.
  return answer.code() == Code::kUnimplemented ? Status::Ok() : answer.status();
}

Status Client::ListGroups(RefreshState& state) {
  const std::string bytes = TRY(remote_.Call(
      Method::kNodeGroups, "", Share(parts_.clock, state.deadline, config()->grpc_timeout, 1, 2)));
  Oddities oddities;
  auto listed = TRY(ReadGroups(bytes, oddities).Context(NameOf(Method::kNodeGroups)));
  NoteOddities("", oddities);
  for (cloud::GroupInfo& info : InStableOrder(std::move(listed), *state.before)) {
    const auto same = [&](const GroupPtr& group) { return group->remote_id == info.id; };
    const auto known = std::ranges::find_if(state.before->groups, same);
    state.groups.push_back({.info = std::move(info),
                            .before = known == state.before->groups.end() ? nullptr : *known});
  }
  return Status::Ok();
}

// In the order of need, so that a slow provider is late with what can wait. What the deadline cuts
// off is first in the next Refresh.
Client::Pieces Client::PlanOf(RefreshState& state) {
  Pieces pieces;
  AddGroupPieces(state, pieces);
  AddGpuPieces(state, pieces);
  AddTemplatePieces(state, pieces);
  AddRenewals(state, pieces);
  return pieces;
}

void Client::AddGroupPieces(RefreshState& state, Pieces& pieces) {
  std::vector<GroupAnswers*> order;
  for (GroupAnswers& group : state.groups) order.push_back(&group);
  std::ranges::stable_sort(order, {}, [](const GroupAnswers* group) {
    return group->before == nullptr ? TimePoint() : group->before->oldest();
  });
  // Half of the time at most for one call: a group that hangs fails alone.
  const Duration most =
      Share(parts_.clock, state.deadline, config()->grpc_timeout, 1, 2).Left(parts_.clock);
  const auto until = [this, &state, most] {
    return Deadline::In(parts_.clock, most).Earlier(state.deadline);
  };
  for (GroupAnswers* group : order) {
    pieces.push_back([this, group, until, &state] {
      if (!state.deadline.Passed(parts_.clock)) group->target = AskTarget(group->info.id, until());
    });
    pieces.push_back([this, group, until, &state] {
      if (!state.deadline.Passed(parts_.clock)) {
        group->instances = AskInstances(group->info.id, until());
      }
    });
  }
}

// Answers that are there and may have become others. However many they are, half of the time is
// theirs at most: those that did not get their turn are first the next time.
void Client::AddRenewals(RefreshState& state, Pieces& pieces) {
  if (remote_.Lacks(Method::kNodeGroupForNode)) return;
  const Deadline start_by =
      Share(parts_.clock, state.deadline, state.deadline.Left(parts_.clock), 1, 2);
  const Moment moment{.generation = state.generation, .now = state.began};
  for (Question& due : groups_of_nodes_.Due(moment)) {
    if (due.first) continue;
    pieces.push_back([this, &state, start_by, asked = std::move(due)] {
      if (start_by.Passed(parts_.clock)) return;
      groups_of_nodes_.Put(asked.key, AskGroupOf(asked.request, ReadDeadline(state.deadline)),
                           state.generation, state.began);
    });
  }
}

// Nodes that nobody has asked about, without those that a list of this Refresh shows: in the first
// one that is most of them. Of the time that is left some is kept, so that a provider whose every
// call is slow is still done with in time.
Client::Pieces Client::NewNodesOf(RefreshState& state) {
  Pieces pieces;
  if (remote_.Lacks(Method::kNodeGroupForNode)) return pieces;
  const Moment moment{.generation = state.generation, .now = state.began};
  std::vector<Question> due = groups_of_nodes_.Due(moment);
  std::erase_if(due, [](const Question& question) { return !question.first; });
  if (due.empty()) return pieces;
  std::unordered_set<std::string_view> listed;
  for (const GroupAnswers& group : state.groups) {
    if (!group.instances.result || !group.instances.result->ok()) continue;
    for (const cloud::Instance& instance : ***group.instances.result) listed.insert(instance.id);
  }
  const Deadline start_by =
      Share(parts_.clock, state.deadline, state.deadline.Left(parts_.clock), 2, 3);
  for (Question& question : due) {
    const std::string_view id = std::string_view(question.key).substr(0, question.key.find('\n'));
    if (listed.contains(id)) continue;
    pieces.push_back([this, &state, start_by, asked = std::move(question)] {
      if (start_by.Passed(parts_.clock)) return;
      groups_of_nodes_.Put(asked.key, AskGroupOf(asked.request, ReadDeadline(state.deadline)),
                           state.generation, state.began);
    });
  }
  return pieces;
}

void Client::AddGpuPieces(RefreshState& state, Pieces& pieces) {
  const TimePoint now = state.began;
  const Duration ttl = config()->describe_ttl;
  if (state.before->gpu_label.Due(now, ttl) && !remote_.Lacks(Method::kGpuLabel)) {
    pieces.push_back([this, &state] {
      Attempt<std::string> attempt{.ticket = NextTicket(), .at = Now()};
      const auto answer = remote_.Call(Method::kGpuLabel, "", ReadDeadline(state.deadline));
      attempt.result = answer.ok() ? ReadGpuLabel(*answer) : answer;
      state.gpu_label = std::move(attempt);
    });
  }
  if (state.before->gpu_types.Due(now, ttl) && !remote_.Lacks(Method::kGetAvailableGpuTypes)) {
    pieces.push_back([this, &state] {
      Attempt<std::vector<std::string>> attempt{.ticket = NextTicket(), .at = Now()};
      const auto answer =
          remote_.Call(Method::kGetAvailableGpuTypes, "", ReadDeadline(state.deadline));
      attempt.result =
          answer.ok() ? ReadGpuTypes(*answer) : Result<std::vector<std::string>>(answer.status());
      state.gpu_types = std::move(attempt);
    });
  }
}

void Client::AddTemplatePieces(RefreshState& state, Pieces& pieces) {
  const TimePoint now = state.began;
  const Duration ttl = config()->describe_ttl;
  const bool other_defaults = state.before->options_defaults != state.defaults;
  for (GroupAnswers& group : state.groups) {
    if (!other_defaults && group.before != nullptr && !group.before->options.Due(now, ttl))
      continue;
    pieces.push_back([this, &state, &group] {
      if (state.deadline.Passed(parts_.clock)) return;
      group.options = AskOptions(group.info.id, state.defaults, ReadDeadline(state.deadline));
    });
  }
  for (GroupAnswers& group : state.groups) {
    if (group.before != nullptr && !group.before->node_template.Due(now, ttl)) continue;
    pieces.push_back([this, &state, &group] {
      if (state.deadline.Passed(parts_.clock)) return;
      group.node_template =
          AskTemplate(group.before.get(), group.info.id, ReadDeadline(state.deadline));
    });
  }
}

Status Client::Publish(RefreshState& state) {
  const std::lock_guard lock(publish_mutex_);
  const auto current = picture_.Load();  // a change may have replaced what we began with
  auto next = std::make_shared<Picture>(*current);
  next->groups.clear();
  const bool other_defaults = current->options_defaults != state.defaults;
  for (GroupAnswers& answers : state.groups) {
    const auto same = [&](const GroupPtr& group) { return group->remote_id == answers.info.id; };
    const auto known = std::ranges::find_if(current->groups, same);
    auto view = known == current->groups.end() ? std::make_shared<GroupView>()
                                               : std::make_shared<GroupView>(**known);
    view->remote_id = answers.info.id;
    view->info = answers.info;
    view->info.id = config()->group_prefix + answers.info.id;
    view->TakeInstances(answers.instances);
    view->Judge(answers.target);
    view->target.Take(answers.target);
    if (other_defaults) view->options = {};
    if (answers.options) view->options.Take(*answers.options);
    if (answers.node_template) view->node_template.Take(*answers.node_template);
    next->groups.push_back(std::move(view));
  }
  if (state.gpu_label) next->gpu_label.Take(*state.gpu_label);
  if (state.gpu_types) next->gpu_types.Take(*state.gpu_types);
  next->options_defaults = state.defaults;
  next->attempted = true;
  next->Index();
  next->failure = Verdict(state, *next);
  if (next->failure.ok()) {
    if (!current->failure.ok()) {
      parts_.log.Info("the provider answers again",
                      {{"provider", parts_.name}, {"groups", next->groups.size()}});
    }
    if (current->read && next->groups.empty() && !current->groups.empty()) {
      parts_.log.Warning("the provider lists no groups any more", {{"provider", parts_.name}});
    }
    next->read = true;
    next->read_at = state.began;
  }
  ++next->version;
  generation_ = state.generation;
  groups_of_nodes_.Prune(state.generation);
  const Status failure = next->failure;
  Show(*next);
  picture_.Store(std::move(next));
  return failure;
}

// OK as long as some group was answered for: one that fails keeps its last answers, or, without
// any, is left out. A Refresh that ran out of time before every group was read once is not OK.
Status Client::Verdict(const RefreshState& state, const Picture& picture) const {
  size_t answered = 0;
  size_t unread = 0;
  bool cut_off = false;
  Status first;
  // Not asked any more, or asked and not waited for to the end.
  const auto was_cut_off = [&](const auto& attempt) {
    return !attempt.result || (state.over && attempt.result->code() == Code::kDeadlineExceeded);
  };
  for (size_t i = 0; i < state.groups.size(); ++i) {
    const GroupAnswers& group = state.groups[i];
    const auto failed = [&](const auto& attempt) {
      if (attempt.result && attempt.result->ok()) return false;
      if (first.ok() && attempt.result) {
        first = attempt.result->status().Context("group " + group.info.id);
      }
      return true;
    };
    const bool bad_target = failed(group.target);
    const bool bad_instances = failed(group.instances);
    if (!bad_target && !bad_instances) ++answered;
    if (picture.groups[i]->complete()) continue;
    ++unread;
    cut_off |= was_cut_off(group.target) || was_cut_off(group.instances);
  }
  const std::string who = "provider '" + parts_.name + "'";
  const std::string counted =
      std::to_string(answered) + " of " + std::to_string(state.groups.size()) + " groups";
  if (cut_off) {
    return DeadlineExceeded(who + " is too slow: " + counted + " were read in time, " +
                            std::to_string(unread) + " are not known yet")
        .Context("refresh");
  }
  if (state.groups.empty() || answered > 0) {
    if (!first.ok()) {
      parts_.log.Warning("the provider did not answer for every group, their last answers are kept",
                         {{"provider", parts_.name},
                          {"answered", answered},
                          {"groups", state.groups.size()},
                          {"stale", picture.stale_groups()},
                          {"left_out", unread},
                          {"first_error", first.ToString()}});
    }
    return Status::Ok();
  }
  if (first.ok()) first = DeadlineExceeded("no group was read in time");
  return first.Context(who + " answered for none of " + std::to_string(state.groups.size()) +
                       " groups");
}

// Nothing new was learned: the picture stays, and says so.
Status Client::Failed(const Status& failure) {
  const std::lock_guard lock(publish_mutex_);
  const auto current = picture_.Load();
  auto next = std::make_shared<Picture>(*current);
  const TimePoint now = Now();
  std::string kept = "; it has never been read";
  if (current->read) kept = "; its answers of " + Ago(current->read_at, now) + " ago stay in use";
  next->failure = Status(failure.code(), "provider '" + parts_.name + "' at " + config()->address +
                                             ": " + failure.message() + kept);
  next->attempted = true;
  for (GroupPtr& group : next->groups) {
    auto view = std::make_shared<GroupView>(*group);
    view->target.failure = failure;
    view->instances.failure = failure;
    group = std::move(view);
  }
  if (current->failure.ok()) {
    parts_.log.Warning("the provider failed, its last answers stay in use",
                       {{"provider", parts_.name}, {"error", next->failure.ToString()}});
  }
  ++next->version;
  const Status status = next->failure;
  Show(*next);
  picture_.Store(std::move(next));
  return status;
}

}  // namespace coppice::node_groups::externalgrpc
