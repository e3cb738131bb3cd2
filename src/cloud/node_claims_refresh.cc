// How CloudNodeClaims learns what there is: machines, what is for sale, classes, claims; and what it
// does about machines that are nobody's.

#include <algorithm>

#include "base/strings.h"
#include "cloud/node_claims_core.h"

namespace coppice::cloud {
namespace {

constexpr Duration kSaleTimeout = std::chrono::minutes(1);
constexpr Duration kJudgeTimeout = std::chrono::minutes(1);

std::string_view DigitsOf(std::string_view machine_name) {
  const size_t dash = machine_name.rfind('-');
  return dash == std::string_view::npos ? machine_name : machine_name.substr(dash + 1);
}

bool IsOurs(const NodeClassKind& kind) {
  return kind.group == kNodeClassGroup && kind.kind == kNodeClassKindName;
}

}  // namespace

void CloudNodeClaims::Core::SetClasses(std::vector<NodeClassInput> classes) {
  const Lock lock(book_.mutex());
  classes_known_ = true;
  std::map<std::string, std::shared_ptr<const ClassView>, std::less<>> next;
  for (NodeClassInput& input : classes) {
    if (!IsOurs(input.kind)) continue;
    const std::string name = input.node_class.metadata.name;
    const auto before = classes_.find(name);
    auto view = std::make_shared<ClassView>();
    view->hash = HashOfClass(input.node_class);
    view->input = std::move(input);
    view->state = {.kind = view->input.kind,
                   .name = name,
                   .generation = view->input.node_class.metadata.generation,
                   .reason = "NotJudgedYet",
                   .message = "the cloud has not been asked about this class yet"};
    // What was found out about the same spec holds until it is asked again. Of another one nothing
    // is known; machines are bought again once it was judged.
    if (before != classes_.end()) {
      const NodeClassInput& old = before->second->input;
      const bool same = old.node_class.spec == view->input.node_class.spec &&
                        old.user_data_status.ok() == view->input.user_data_status.ok();
      if (same) {
        const int64_t generation = view->state.generation;
        view->state = before->second->state;
        view->state.generation = generation;
        view->judged_at = before->second->judged_at;
      }
    }
    FillTypes(*view);
    next[name] = std::move(view);
  }
  classes_ = std::move(next);
  Publish();
}

void CloudNodeClaims::Core::SetClaims(std::vector<ClaimRef> claims) {
  std::unordered_set<std::string> digits, ids;
  for (ClaimRef& claim : claims) {
    digits.insert(ClaimDigits(claim.uid));
    if (!claim.provider_id.empty()) ids.insert(std::move(claim.provider_id));
  }
  const Lock lock(book_.mutex());
  claims_at_ = clock_.Now();
  claim_digits_ = std::move(digits);
  claim_ids_ = std::move(ids);
}

Status CloudNodeClaims::Core::Refresh(Deadline deadline) {
  TRY(book_.Refresh(deadline));
  JudgeClasses(deadline);
  EndLeaks(deadline);
  return Status::Ok();
}

// A failure leaves what is for sale as it was: a list of machines that was read must not be thrown
// away for it.
void CloudNodeClaims::Core::BeforeMerge(Deadline deadline) {
  {
    const Lock lock(book_.mutex());
    if (flavors_ != nullptr && clock_.Now() < flavors_at_ + options_.flavor_ttl) return;
  }
  ReadFlavors(deadline);
}

void CloudNodeClaims::Core::ReadFlavors(Deadline deadline) {
  auto flavors = cloud_.Flavors(deadline.Earlier(Deadline::In(clock_, kSaleTimeout)));
  if (!flavors.ok()) {
    log_.Warning("flavors could not be read; instance types stay as they are",
                 {{"error", flavors.status()}});
    return;
  }
  std::ranges::sort(*flavors, {}, &Flavor::name);
  auto twice = std::ranges::unique(*flavors, {}, &Flavor::name);
  flavors->erase(twice.begin(), twice.end());
  auto grid = cloud_.Grid();
  if (grid) {
    const auto mistakes = grid->Mistakes();
    if (!mistakes.empty()) {
      log_.Warning("the cloud declares a grid of flavors that makes no sense; it is left out",
                   {{"mistakes", Join(mistakes, "; ")}});
      grid.reset();
    }
  }
  const Lock lock(book_.mutex());
  flavors_at_ = clock_.Now();
  if (flavors_ != nullptr && *flavors_ == *flavors && grid_ == grid) return;
  flavors_ = std::make_shared<const std::vector<Flavor>>(*std::move(flavors));
  grid_ = std::move(grid);
}

void CloudNodeClaims::Core::ListTaken() {
  NoteLeaks();
  Publish();
  size_t machines = 0;
  for (const auto& [pool, book] : book_.ledger().books()) machines += book.machines.size();
  machines_.Set(static_cast<double>(machines));
}

std::set<OfferingKey> CloudNodeClaims::Core::SoldOutNow() {
  const TimePoint now = clock_.Now();
  std::erase_if(sold_out_, [&](const auto& entry) { return entry.second <= now; });
  std::set<OfferingKey> keys;
  for (const auto& [key, until] : sold_out_) keys.insert(key);
  return keys;
}

void CloudNodeClaims::Core::FillTypes(ClassView& view) const {
  view.types = nullptr;
  view.flavors.clear();
  auto group = GroupOfClass(view.input.node_class);
  if (group.ok()) view.group = *std::move(group);
  view.group.user_data = view.input.user_data;
  if (flavors_ == nullptr) return;
  auto types = std::make_shared<InstanceTypes>();
  std::set<OfferingKey> sold_out;
  for (const auto& [key, until] : sold_out_) sold_out.insert(key);
  const std::string gpu_label = cloud_.GpuLabel();
  for (const Flavor& flavor : *flavors_) {
    auto type = TypeOf(flavor, view.input.node_class, gpu_label, sold_out);
    if (!type.ok()) continue;  // not in its zones, or amounts that Judge complains about
    types->push_back(*std::move(type));
    view.flavors.push_back(flavor);
  }
  view.types = std::move(types);
}

// Types are made again only if something they are made from has changed.
void CloudNodeClaims::Core::Publish() {
  const auto before = published_.Load();
  auto next = std::make_shared<Picture>();
  next->classes_known = classes_known_;
  next->flavors = flavors_;
  next->grid = grid_;
  next->sold_out = SoldOutNow();
  const bool sale_changed = before->flavors != next->flavors ||
                            before->sold_out != next->sold_out || before->grid != next->grid;
  next->version = before->version + (sale_changed ? 1 : 0);
  for (auto& [name, view] : classes_) {
    if (!sale_changed && view->types != nullptr) continue;
    auto fresh = std::make_shared<ClassView>(*view);
    FillTypes(*fresh);
    if (view->types != nullptr && fresh->types != nullptr && *fresh->types == *view->types)
      continue;
    view = std::move(fresh);
  }
  next->classes = classes_;
  published_.Store(std::move(next));
}

void CloudNodeClaims::Core::JudgeClasses(Deadline deadline) {
  std::vector<std::shared_ptr<const ClassView>> open;
  {
    const Lock lock(book_.mutex());
    if (flavors_ == nullptr) return;
    for (const auto& [name, view] : classes_) {
      if (!view->state.known || clock_.Now() >= view->judged_at + options_.class_check_ttl) {
        open.push_back(view);
      }
    }
  }
  bool changed = false;
  for (const auto& view : open) {
    NodeClassState state = Judge(*view, deadline);
    if (!state.known) continue;  // the question could not be asked; what was known stays
    const Lock lock(book_.mutex());
    const auto it = classes_.find(view->state.name);
    if (it == classes_.end() || it->second->input.node_class.spec != view->input.node_class.spec) {
      continue;  // it was changed meanwhile, and is judged next time
    }
    if (state.ready != it->second->state.ready || !it->second->state.known) {
      log_.Info("node class judged", {{"nodeclass", state.name},
                                      {"ready", state.ready ? "true" : "false"},
                                      {"message", state.message}});
    }
    auto judged = std::make_shared<ClassView>(*it->second);
    judged->state = std::move(state);
    judged->state.generation = it->second->state.generation;
    judged->judged_at = clock_.Now();
    it->second = std::move(judged);
    changed = true;
  }
  if (!changed) return;
  const Lock lock(book_.mutex());
  Publish();
}

NodeClassState CloudNodeClaims::Core::Judge(const ClassView& view, Deadline deadline) const {
  NodeClassState state = view.state;
  const auto say = [&state](bool ready, const char* reason, std::string message) {
    state.known = true;
    state.ready = ready;
    state.reason = reason;
    state.message = std::move(message);
    return state;
  };
  const auto wrong = WrongWithClass(view.input.node_class);
  if (!wrong.empty()) return say(false, "SpecInvalid", Join(wrong, "; "));
  if (!view.input.user_data_status.ok()) {
    return say(false, "UserDataUnreadable", view.input.user_data_status.message());
  }
  GroupConfig group = view.group;
  const auto picture = published_.Load();
  if (!view.flavors.empty()) {
    const std::vector<FlavorOffering> offerings = OfferingsOf(view.flavors.front());
    const auto here = std::ranges::find_if(offerings, [&](const FlavorOffering& offering) {
      return InZones(view.input.node_class.spec.zones, offering.zone);
    });
    group.flavor = view.flavors.front().name;
    group.zone = here == offerings.end() ? offerings.front().zone : here->zone;
  } else if (picture->grid) {
    const auto least = picture->grid->AtLeast({});
    if (least) group.flavor = picture->grid->NameOf(*least);
    const auto& zones = view.input.node_class.spec.zones;
    if (!picture->grid->zones.empty()) group.zone = picture->grid->zones.front();
    if (!zones.empty()) group.zone = zones.front();
  } else {
    return say(false, "NothingForSale",
               "the cloud sells no flavor in the zones of this class: " +
                   Join(view.input.node_class.spec.zones, ", "));
  }
  const auto complaints =
      cloud_.Validate(group, deadline.Earlier(Deadline::In(clock_, kJudgeTimeout)));
  if (!complaints.ok()) {
    log_.Warning("a node class could not be checked against the cloud",
                 {{"nodeclass", state.name}, {"error", complaints.status()}});
    state.known = view.state.known;
    return state;
  }
  if (!complaints->empty()) return say(false, "ValidationFailed", Join(*complaints, "; "));
  return say(true, "Ready", "");
}

bool CloudNodeClaims::Core::IsClaimed(const std::string& name, const ProviderId& id) const {
  return claim_digits_.contains(std::string(DigitsOf(name))) || claim_ids_.contains(id);
}

// Time counts on the claims' side: what was known before the list of claims was made, and is not in
// it. So a list that nobody renews makes no leaks.
void CloudNodeClaims::Core::NoteLeaks() {
  if (!claims_at_) return;
  std::map<ProviderId, TimePoint> now;
  std::vector<std::pair<std::string, std::string>> given_up;
  for (const auto& [pool, book] : book_.ledger().books()) {
    for (const auto& [id, record] : book.machines) {
      if (record.leaving() || record.known_at >= *claims_at_) continue;
      if (IsClaimed(record.machine.name, id)) continue;
      const auto before = unclaimed_.find(id);
      now[id] = before == unclaimed_.end() ? *claims_at_ : before->second;
      if (before != unclaimed_.end()) continue;
      log_.Warning("a machine of a node pool is no claim's; it is ended if that stays so",
                   {{"id", id}, {"name", record.machine.name}, {"nodepool", pool}});
    }
    for (const auto& [name, order] : book.orders) {
      if (order.doomed || *claims_at_ < order.changed_at + options_.leak_grace) continue;
      if (!IsClaimed(name, "")) given_up.emplace_back(pool, name);
    }
  }
  unclaimed_ = std::move(now);
  leaked_.Set(static_cast<double>(unclaimed_.size()));
  for (const auto& [pool, name] : given_up) {
    Order& order = book_.ledger().At(pool).orders.at(name);
    if (order.state == OrderState::kQueued || order.state == OrderState::kFailed) {
      book_.Cancel(pool, name);
    } else {
      order.doomed = true;
    }
  }
}

void CloudNodeClaims::Core::EndLeaks(Deadline deadline) {
  std::vector<std::pair<std::string, ProviderId>> due;
  {
    const Lock lock(book_.mutex());
    for (const auto& [id, since] : unclaimed_) {
      if (*claims_at_ < since + options_.leak_grace) continue;
      if (due.size() == options_.leaks_per_refresh) break;
      if (const std::string* pool = book_.ledger().OwnerOf(id)) due.emplace_back(*pool, id);
    }
  }
  for (const auto& [pool, id] : due) {
    if (options_.gate.dry_run) {
      log_.Info("dry run: a leaked machine would have been ended", {{"id", id}});
      continue;
    }
    const Deadline by = options_.gate.within ? options_.gate.within(deadline) : deadline;
    if (options_.gate.changes != nullptr && !options_.gate.changes->Begin(by).ok()) return;
    Status status = options_.gate.may_change ? options_.gate.may_change() : Status::Ok();
    if (status.ok()) status = book_.End(pool, id, by);
    if (options_.gate.changes != nullptr) options_.gate.changes->End(by);
    if (status.ok()) leaks_ended_.Increment();
    log_.Warning("a leaked machine is ended", {{"id", id}, {"nodepool", pool}, {"answer", status}});
  }
}

}  // namespace coppice::cloud
