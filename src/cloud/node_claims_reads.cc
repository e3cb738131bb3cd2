// What CloudNodeClaims answers about machines, types, drift and classes.

#include <algorithm>

#include "base/go_duration.h"
#include "cloud/node_claims_core.h"

namespace coppice::cloud {
namespace {

Measure MeasureOf(const model::ResourceList& requests) {
  Measure measure;
  const auto within = [](int64_t amount) { return std::clamp<int64_t>(amount, 0, 1LL << 60); };
  if (const auto* cpu = requests.Find("cpu")) measure.cpu_millis = within(cpu->MilliValue());
  if (const auto* memory = requests.Find("memory")) {
    measure.memory_bytes = within(memory->Value());
  }
  return measure;
}

void SortOnce(std::vector<Measure>& measures) {
  std::ranges::sort(measures);
  measures.erase(std::ranges::unique(measures).begin(), measures.end());
}

// What a node of this class keeps back comes on top of what pods ask for, or the type that was made
// to measure would not hold them. At most what the grid's largest would keep.
void AddKept(const model::NodeClass& node_class, const FlavorGrid& grid,
             std::vector<Measure>& wanted) {
  const auto largest = grid.AtLeast({grid.max_cpu_millis, 0});
  const auto type =
      TypeOf(grid.FlavorOf(largest.value_or(Measure{grid.max_cpu_millis, grid.max_memory_bytes})),
             model::NodeClass{.metadata = node_class.metadata,
                              .spec = {.kubelet = node_class.spec.kubelet}},
             "", {});
  if (!type.ok()) return;
  const Measure kept = MeasureOf(type->overhead.Total());
  for (Measure& measure : wanted) {
    measure.cpu_millis += kept.cpu_millis;
    measure.memory_bytes += kept.memory_bytes;
  }
}

}  // namespace

Status CloudNodeClaims::Core::FreshList(Deadline deadline) {
  {
    const Lock lock(book_.mutex());
    if (book_.listed() && clock_.Now() < book_.listed_at() + options_.list_is_fresh) {
      return Status::Ok();
    }
  }
  return book_.Refresh(deadline);
}

std::shared_ptr<const CloudNodeClaims::Core::ClassView> CloudNodeClaims::Core::ClassOf(
    const Machine& machine) const {
  const auto tag = machine.tags.find(kClassTag);
  if (tag == machine.tags.end()) return nullptr;
  const auto picture = published_.Load();
  const auto it = picture->classes.find(tag->second);
  return it == picture->classes.end() ? nullptr : it->second;
}

std::optional<Flavor> CloudNodeClaims::Core::FlavorNamed(const std::string& name,
                                                         const ClassView& view,
                                                         const Picture& picture) const {
  const auto it = std::ranges::find(view.flavors, name, &Flavor::name);
  if (it != view.flavors.end()) return *it;
  if (!picture.grid) return std::nullopt;
  const auto measure = picture.grid->Parse(name);
  if (!measure) return std::nullopt;
  return picture.grid->FlavorOf(*measure);
}

std::vector<Flavor> CloudNodeClaims::Core::MadeFor(const model::NodeClaim& claim,
                                                   const model::NodeRequirement& named,
                                                   const ClassView& view,
                                                   const FlavorGrid& grid) const {
  if (named.complement()) {
    std::vector<Measure> wanted = {MeasureOf(claim.spec.requests)};
    AddKept(view.input.node_class, grid, wanted);
    return grid.Choose(wanted, {}, traits_.most_instance_types);
  }
  std::vector<Flavor> made;
  for (const std::string& value : named.values()) {
    const auto measure = grid.Parse(value);
    if (measure && grid.Sells(*measure)) made.push_back(grid.FlavorOf(*measure));
  }
  return made;
}

std::optional<InstanceType> CloudNodeClaims::Core::TypeNamed(const std::string& flavor,
                                                             const ClassView& view) const {
  for (size_t i = 0; i < view.flavors.size(); ++i) {
    if (view.flavors[i].name == flavor) return (*view.types)[i];
  }
  const auto picture = published_.Load();
  const auto made = FlavorNamed(flavor, view, *picture);
  if (!made) return std::nullopt;
  auto type = TypeOf(*made, view.input.node_class, cloud_.GpuLabel(), picture->sold_out);
  if (!type.ok()) return std::nullopt;
  return *std::move(type);
}

model::NodeClaim CloudNodeClaims::Core::Shown(const Machine& machine, const ClassView* view) const {
  const auto type = view == nullptr ? std::nullopt : TypeNamed(machine.flavor, *view);
  model::NodeClaim claim = ClaimOf(machine, type ? &*type : nullptr);
  if (claim.status.image_id.empty() && view != nullptr) {
    claim.status.image_id = view->input.node_class.spec.image;
  }
  return claim;
}

Result<model::NodeClaim> CloudNodeClaims::Core::Get(const ProviderId& id, Deadline deadline) {
  TRY(FreshList(deadline));
  std::optional<MachineRecord> record;
  {
    const Lock lock(book_.mutex());
    if (const std::string* pool = book_.ledger().OwnerOf(id)) {
      record = book_.ledger().Find(*pool)->machines.at(id);
    }
  }
  if (!record) return NotFound("no machine '" + id + "' of a node pool is known");
  model::NodeClaim claim = Shown(record->machine, ClassOf(record->machine).get());
  if (record->leaving()) claim.metadata.deletion_timestamp = model::Time{record->going_at};
  return claim;
}

Result<std::vector<model::NodeClaim>> CloudNodeClaims::Core::List(Deadline deadline) {
  TRY(book_.Refresh(deadline));
  std::vector<MachineRecord> records;
  {
    const Lock lock(book_.mutex());
    for (const auto& [pool, book] : book_.ledger().books()) {
      for (const auto& [id, record] : book.machines) records.push_back(record);
    }
  }
  std::vector<model::NodeClaim> claims;
  claims.reserve(records.size());
  for (const MachineRecord& record : records) {
    claims.push_back(Shown(record.machine, ClassOf(record.machine).get()));
    if (record.leaving()) claims.back().metadata.deletion_timestamp = model::Time{record.going_at};
  }
  return claims;
}

Result<std::shared_ptr<const InstanceTypes>> CloudNodeClaims::Core::TypesFor(
    const model::NodePool& pool, const WaitingShapes& waiting) {
  const auto picture = published_.Load();
  const std::string& name = pool.metadata.name;
  if (!picture->classes_known) return Unavailable("pool '" + name + "': no class is known yet");
  const auto& reference = pool.spec.template_.spec.node_class_ref;
  if (!reference) return FailedPrecondition("pool '" + name + "' names no class");
  const auto it = picture->classes.find(reference->name);
  if (it == picture->classes.end()) {
    return FailedPrecondition("pool '" + name + "': there is no " + reference->kind + " '" +
                              reference->name + "'");
  }
  const auto& view = it->second;
  if (view->types == nullptr) {
    return Unavailable("pool '" + name + "': the cloud has not told yet what it sells");
  }
  if (!picture->grid) return view->types;

  Made asked{.view = view, .version = picture->version};
  for (const auto& requests : waiting.requests) asked.wanted.push_back(MeasureOf(requests));
  if (waiting.loads) {
    for (const auto& load : waiting.loads()) asked.wanted.push_back(MeasureOf(load));
  }
  {
    const Lock lock(book_.mutex());
    if (const Book* book = book_.ledger().Find(name)) {
      for (const auto& [id, record] : book->machines) {
        const auto measure = picture->grid->Parse(record.machine.flavor);
        if (measure) asked.live.push_back(*measure);
      }
    }
  }
  AddKept(view->input.node_class, *picture->grid, asked.wanted);
  SortOnce(asked.wanted);
  SortOnce(asked.live);
  const MutexLock lock(made_mutex_);
  std::deque<Made>& kept = made_[name];
  const auto same = std::ranges::find_if(kept, [&](const Made& made) {
    return made.view == asked.view && made.version == asked.version &&
           made.wanted == asked.wanted && made.live == asked.live;
  });
  if (same != kept.end()) {
    std::rotate(kept.begin(), same, same + 1);
    return kept.front().types;
  }
  auto types = std::make_shared<InstanceTypes>(*view->types);
  const size_t most = traits_.most_instance_types;
  // A machine that stands keeps its type, also one that the grid no longer sells.
  std::vector<Flavor> made = picture->grid->Choose(asked.wanted, asked.live,
                                                   types->size() < most ? most - types->size() : 0);
  for (const Measure& measure : asked.live) {
    if (!picture->grid->Sells(measure)) made.push_back(picture->grid->FlavorOf(measure));
    if (!picture->grid->Sells(measure)) made.back().in_stock = false;
  }
  for (const Flavor& flavor : made) {
    auto type = TypeOf(flavor, view->input.node_class, cloud_.GpuLabel(), picture->sold_out);
    if (type.ok()) types->push_back(*std::move(type));
  }
  asked.types = std::move(types);
  constexpr size_t kMostKept = 4;
  if (kept.size() >= kMostKept) kept.pop_back();
  kept.push_front(std::move(asked));
  return kept.front().types;
}

Result<std::string> CloudNodeClaims::Core::IsDrifted(const model::NodeClaim& claim) {
  const ProviderId& id = claim.status.provider_id;
  std::optional<Machine> machine;
  {
    const Lock lock(book_.mutex());
    if (const std::string* pool = book_.ledger().OwnerOf(id)) {
      const MachineRecord& record = book_.ledger().Find(*pool)->machines.at(id);
      if (!record.leaving()) machine = record.machine;
    }
  }
  if (!machine) return NotFound("no machine '" + id + "' of a node pool is known");
  const auto picture = published_.Load();
  const auto& reference = claim.spec.node_class_ref;
  const auto it = reference ? picture->classes.find(reference->name) : picture->classes.end();
  if (it == picture->classes.end()) return std::string();  // nothing to compare with
  const ClassView& view = *it->second;
  const auto tag = machine->tags.find(kClassHashTag);
  const bool comparable =
      tag != machine->tags.end() && tag->second.starts_with(view.hash.substr(0, 3));
  if (comparable && tag->second != view.hash) return std::string("NodeClassDrifted");
  if (!InZones(view.input.node_class.spec.zones, machine->zone)) return std::string("ZoneDrifted");
  // The list of types is made for what waits; whether this measure is sold at all the grid knows.
  if (picture->grid) {
    const auto measure = picture->grid->Parse(machine->flavor);
    if (measure && !picture->grid->Sells(*measure)) return std::string("InstanceTypeNotFound");
  }
  return std::string();
}

std::optional<NodeToRegister> CloudNodeClaims::Core::NodeFor(const model::NodeClaim& claim) {
  const auto picture = published_.Load();
  const auto& reference = claim.spec.node_class_ref;
  const auto it = reference ? picture->classes.find(reference->name) : picture->classes.end();
  if (it == picture->classes.end() || claim.status.provider_id.empty()) return std::nullopt;
  const model::NodeClassSpec& spec = it->second->input.node_class.spec;
  if (!spec.register_node) return std::nullopt;
  NodeToRegister registered;
  if (spec.node_registration_delay) {
    const auto delay = ParseGoDuration(*spec.node_registration_delay);
    if (delay.ok()) registered.after = *delay;
  }
  registered.node = NodeOfClaim(claim, MachineNameOf(claim, options_.machine_prefix));
  return registered;
}

std::vector<NodeClassState> CloudNodeClaims::Core::ClassStates() const {
  std::vector<NodeClassState> states;
  const auto picture = published_.Load();
  for (const auto& [name, view] : picture->classes) states.push_back(view->state);
  return states;
}

std::vector<CloudNodeClaims::Leak> CloudNodeClaims::Core::Leaks() {
  const Lock lock(book_.mutex());
  std::vector<Leak> leaks;
  for (const auto& [id, since] : unclaimed_) {
    if (const std::string* pool = book_.ledger().OwnerOf(id)) {
      leaks.push_back({book_.ledger().Find(*pool)->machines.at(id).machine, since});
    }
  }
  return leaks;
}

}  // namespace coppice::cloud
