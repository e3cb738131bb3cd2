#include "autoscale/group_quote.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "autoscale/pod_lists.h"
#include "autoscale/surroundings.h"

namespace coppice::autoscale {

namespace {

// More rounds than groups are only needed where limits cut every round short.
constexpr int kMostRounds = 64;
constexpr Duration kPricePeriod = std::chrono::hours(1);
constexpr Duration kLearnPricesWithin = std::chrono::seconds(10);

// A task of its own name; tasks of one class are of one controller, so that they count as one kind.
cluster::PodPtr TaskOf(const market::Want& want, size_t task_class, int number) {
  auto pod = std::make_shared<model::Pod>(*want.classes[task_class].pod);
  const std::string suffix = std::to_string(task_class) + "-" + std::to_string(number);
  pod->metadata.name = "quoted-" + pod->metadata.name + "-" + suffix;
  pod->metadata.uid = "quoted/" + want.gang + "/" + suffix;
  pod->spec.node_name.clear();
  pod->status = {};
  if (model::ControllerOf(pod->metadata) == nullptr) {
    pod->metadata.owner_references.push_back({.api_version = "coppice.dev/v1",
                                              .kind = "Quote",
                                              .name = want.gang,
                                              .uid = want.gang,
                                              .controller = true});
  }
  return pod;
}

cloud::PriceQuestions::OfNode PriceQuestionOf(const model::Node& node) {
  cloud::PriceQuestions::OfNode of{.node = {node.spec.provider_id, node.metadata.name},
                                   .labels = {}};
  for (const auto& [key, value] : node.metadata.labels) of.labels[key] = value;
  return of;
}

}  // namespace

std::vector<cloud::GroupInfo> GroupQuote::Raised::Groups() {
  std::vector<cloud::GroupInfo> groups = inner().Groups();
  if (only)
    std::erase_if(groups, [this](const cloud::GroupInfo& g) { return !only->contains(g.id); });
  return groups;
}

Result<int> GroupQuote::Raised::TargetSize(std::string_view group) {
  const int target = TRY(inner().TargetSize(group));
  const auto raised = more.find(group);
  return raised == more.end() ? target : target + raised->second;
}

GroupQuote::GroupQuote(const Parts& parts, const market::Want& want, const market::View& view,
                       std::string domain)
    : parts_(parts),
      want_(want),
      view_(view),
      domain_(std::move(domain)),
      templates_(parts.templates),
      groups_(parts.shared.groups),
      imagined_(parts.shared.world, parts.tpus),
      planner_(PlannerParts()) {
  offer.gang = want.gang;
}

ScaleUpPlanner::Parts GroupQuote::PlannerParts() {
  const StageParts& shared = parts_.shared;
  return {shared.options.buying,
          shared.options.limits,
          shared.options.similarity,
          groups_,
          templates_,
          parts_.state,
          parts_.search,
          parts_.expanders,
          shared.executor.clock(),
          shared.options_of,
          parts_.first_of_tie,
          [&shared](std::function<void()> work) { return shared.cloud.Elsewhere(std::move(work)); },
          shared.slots,
          shared.log,
          &parts_.choosing};
}

bool GroupQuote::InDomain(const model::Node& node) const {
  if (want_.topology.key.empty() || domain_.empty()) return true;
  const std::string* value = node.metadata.labels.Find(want_.topology.key);
  return value != nullptr && *value == domain_;
}

void GroupQuote::MakeTasks() {
  for (size_t i = 0; i < want_.classes.size(); ++i) {
    for (int number = 0; number < want_.classes[i].count; ++number)
      missing_.push_back({TaskOf(want_, i, number), i});
  }
}

// Those of other gangs, and those outside of the domain, are nobody's room.
void GroupQuote::AddUpcoming() {
  for (const GroupStates::Upcoming& group : parts_.state.UpcomingNodes(view_.now)) {
    const TemplatePtr node_template = templates_.Find(group.group);
    for (const std::string& name : group.replaced) imagined_.Replace(name);
    if (node_template == nullptr) continue;
    const int others =
        parts_.reserved.Of(group.group) - parts_.reserved.Of(group.group, want_.gang);
    for (int i = 0; i < group.count; ++i) {
      pack::NodeTemplate copy = pack::FreshCopy(*node_template, "upcoming-" + std::to_string(i));
      copy.node.metadata.annotations[kUpcomingAnnotation] = "true";
      if (i < others || !InDomain(copy.node)) copy.node.spec.unschedulable = true;
      source_of_[copy.node.metadata.name] = group.group;
      imagined_.Add(group.group, std::move(copy));
    }
  }
}

// Who is expected where: what the session has placed, then the pods that machines on their way were
// bought for.
void GroupQuote::PlaceOthers() {
  cluster::World& world = parts_.shared.world;
  cluster::Snapshot& snapshot = world.snapshot();
  const auto place = [&](const market::PlacedPod& placed) {
    const auto known = world.FindPod(placed.pod->metadata.namespace_, placed.pod->metadata.name);
    if (known != nullptr && !known->spec.node_name.empty()) return;  // it has come to be
    const cluster::NodeIndex node = snapshot.FindNode(placed.node);
    if (node == cluster::kNone) return;
    imagined_.Place({placed.pod, snapshot.AddPod(placed.pod, cluster::kNone)}, node);
  };
  for (const market::PlacedPod& placed : view_.placed) place(placed);
  for (const market::PlacedPod& placed : want_.placed) place(placed);
  if (imagined_.stand_ins().empty()) return;
  for (const fit::PendingPod& pod :
       ListPending(parts_.shared.options.pods, parts_.shared.options.deviations, world)) {
    const cluster::NodeIndex node = parts_.search.Find(pod.index);
    if (node != cluster::kNone) imagined_.Place(pod, node);
  }
}

void GroupQuote::PlaceMissing(size_t from_position, const std::set<const model::Pod*>* only,
                              bool on_its_way) {
  cluster::Snapshot& snapshot = parts_.shared.world.snapshot();
  std::vector<Missing> left;
  for (Missing& task : missing_) {
    cluster::NodeIndex node = cluster::kNone;
    if (only == nullptr || only->contains(task.pod.get())) {
      const cluster::PodIndex index = snapshot.AddPod(task.pod, cluster::kNone);
      node = parts_.search.Find(index, {.from_position = from_position});
      if (node != cluster::kNone) imagined_.Place({task.pod, index}, node);
    }
    if (node == cluster::kNone) {
      left.push_back(std::move(task));
      continue;
    }
    const std::string& machine = snapshot.node(node).name;
    market::Seat& seat = seats_[{task.task_class, machine}];
    seat.task_class = task.task_class;
    seat.machine = machine;
    seat.source = source_of_[machine];
    seat.on_its_way = on_its_way;
    ++seat.count;
  }
  missing_ = std::move(left);
}

ScaleUpPlanner::DraftPtr GroupQuote::Begin() {
  MakeTasks();
  if (!domain_.empty()) {
    groups_.only.emplace();
    for (const auto& [group, node_template] : templates_.all()) {
      if (InDomain(node_template->node)) groups_.only->insert(group);
    }
  }
  const StandStill::Plan still(parts_.still);
  const size_t start = parts_.search.last();
  const Imagined::Fork fork(imagined_);
  const size_t existing = parts_.shared.world.snapshot().nodes().size();
  AddUpcoming();
  // Nodes that stand-ins take the place of are gone now.
  const size_t first = existing - std::min(existing, imagined_.replaced().size());
  PlaceOthers();
  PlaceMissing(first, nullptr, true);
  ScaleUpPlanner::DraftPtr draft;
  if (!missing_.empty()) draft = Next({}, 0);
  parts_.search.MoveTo(start);
  return draft;
}

// In an open fork: the options for what is left.
ScaleUpPlanner::DraftPtr GroupQuote::Next(const ScaleUpPlan& plan, int round) {
  cluster::Snapshot& snapshot = parts_.shared.world.snapshot();
  const size_t first = snapshot.nodes().size();
  for (const report::GroupResize& resize : plan.resizes) {
    const TemplatePtr node_template = templates_.Find(resize.group);
    if (node_template == nullptr) continue;
    for (int i = 0; i < resize.to - resize.from; ++i) {
      pack::NodeTemplate copy =
          pack::FreshCopy(*node_template, std::to_string(i) + "-gang-" + std::to_string(round));
      copy.node.metadata.annotations[kUpcomingAnnotation] = "true";
      source_of_[copy.node.metadata.name] = resize.group;
      imagined_.Add(resize.group, std::move(copy));
    }
  }
  if (round > 0) {
    std::set<const model::Pod*> triggered;
    for (const cluster::PodPtr& pod : plan.report.triggered) triggered.insert(pod.get());
    PlaceMissing(first, &triggered, false);
  }
  if (missing_.empty()) return nullptr;
  roster_.Update(parts_.nodes.nodes(), imagined_);
  Pods pods;
  for (const Missing& task : missing_)
    pods.push_back({task.pod, snapshot.AddPod(task.pod, cluster::kNone)});
  return planner_.Consider(pods, roster_.all(), view_.now);
}

void GroupQuote::NoteRound(const ScaleUpPlan& plan) {
  std::string text = plan.chosen + " is chosen";
  for (const report::ExpanderStep& step : plan.report.chosen_by)
    text += (&step == &plan.report.chosen_by.front() ? " by " : ", ") + step.expander;
  for (const report::GroupResize& resize : plan.resizes) {
    if (resize.to <= resize.from) continue;
    groups_.more[resize.group] += resize.to - resize.from;
    if (std::ranges::find(bought_order_, resize.group) == bought_order_.end())
      bought_order_.push_back(resize.group);
    text += "; " + resize.group + " from " + std::to_string(resize.from) + " to " +
            std::to_string(resize.to);
  }
  why_.push_back(std::move(text));
}

void GroupQuote::Refuse(const report::ScaleUp& report) {
  std::map<std::string, std::string> by_group;
  const auto note = [&](const report::Unhelped& kind) {
    for (const auto& [group, verdict] : kind.rejected) by_group.emplace(group, verdict.reason());
    if (kind.skipped == nullptr) return;
    for (const auto& [group, reasons] : *kind.skipped)
      by_group.emplace(group, reasons.empty() ? "not considered" : reasons.front());
  };
  for (const report::Unhelped& kind : report.unhelped) note(kind);
  for (const report::Unhelped& kind : report.unserved) note(kind);
  market::Refusal no;
  no.short_of = static_cast<int>(missing_.size());
  no.text = !report.error.empty() ? report.error
            : parts_.shared.groups.Groups().empty()
                ? "there are no node groups"
                : "no node group has machines for " + std::to_string(no.short_of) + " of " +
                      std::to_string(want_.count()) + " tasks";
  if (!domain_.empty()) no.text += " in " + want_.topology.key + "=" + domain_;
  for (auto& [group, text] : by_group) no.reasons.push_back({group, std::move(text)});
  refusal = std::move(no);
}

Task<void> GroupQuote::LearnPrices() {
  const auto questions = std::make_shared<cloud::PriceQuestions>();
  questions->start = view_.now;
  questions->end = view_.now + kPricePeriod;
  for (const std::string& group : bought_order_) {
    if (const TemplatePtr found = templates_.Find(group))
      questions->nodes.push_back(PriceQuestionOf(found->node));
  }
  const Deadline deadline = Deadline::In(parts_.shared.executor.clock(), kLearnPricesWithin);
  cloud::NodeGroups& groups = parts_.shared.groups;
  // It has a name, for GCC 12 destroys a temporary with captures in an awaited expression twice.
  const std::function<void()> learn = [questions, deadline, &groups] {
    groups.LearnPrices(*questions, deadline);
  };
  // What could not be learned has no price; the offer says so.
  const Status learned = co_await parts_.shared.cloud.Elsewhere(learn);
  (void)learned;
}

void GroupQuote::MakeOffer() {
  std::map<std::string, std::set<std::string>> claimed;  // machines by group
  for (auto& [key, seat] : seats_) {
    offer.served += seat.count;
    if (seat.on_its_way) claimed[seat.source].insert(seat.machine);
    offer.seats.push_back(std::move(seat));
  }
  for (const std::string& group : bought_order_) {
    market::Lot lot{.source = group, .machines = groups_.more[group]};
    const auto target = parts_.shared.groups.TargetSize(group);
    lot.before = target.ok() ? *target : 0;
    lot.after = lot.before + lot.machines;
    if (const auto own = claimed.extract(group))
      lot.claimed = static_cast<int>(own.mapped().size());
    if (const TemplatePtr found = templates_.Find(group)) {
      const auto [node, labels] = PriceQuestionOf(found->node);
      const auto price =
          parts_.shared.groups.NodePrice(node, labels, view_.now, view_.now + kPricePeriod);
      if (price.ok()) lot.price_per_hour = *price * lot.machines;
    }
    offer.lots.push_back(std::move(lot));
  }
  for (const auto& [group, machines] : claimed) {
    const auto target = parts_.shared.groups.TargetSize(group);
    const int size = target.ok() ? *target : 0;
    offer.lots.push_back({.source = group,
                          .machines = 0,
                          .claimed = static_cast<int>(machines.size()),
                          .before = size,
                          .after = size,
                          .price_per_hour = 0});
  }
  offer.whole = missing_.empty();
  offer.why = std::move(why_);
}

Task<void> GroupQuote::Run() {
  ScaleUpPlanner::DraftPtr draft = Begin();
  for (int round = 1; draft != nullptr && round < kMostRounds; ++round) {
    const expand::Surroundings around = SurroundingsOf(parts_.shared, templates_);
    const ScaleUpPlan plan = co_await planner_.Decide(std::move(draft), around, view_.now);
    const size_t before = missing_.size();
    if (plan.resizes.empty()) {
      Refuse(plan.report);
      break;
    }
    NoteRound(plan);
    {
      const StandStill::Plan still(parts_.still);
      const size_t start = parts_.search.last();
      const Imagined::Fork fork(imagined_);
      draft = Next(plan, round);
      parts_.search.MoveTo(start);
    }
    if (missing_.size() == before) {  // machines that nobody could use
      Refuse(plan.report);
      break;
    }
  }
  if (!missing_.empty() && !refusal) Refuse({});
  if (refusal && (!want_.in_part || seats_.empty())) co_return;
  if (!bought_order_.empty()) co_await LearnPrices();
  MakeOffer();
}

}  // namespace coppice::autoscale
