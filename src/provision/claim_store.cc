#include "provision/claim_store.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <set>
#include <unordered_map>
#include <utility>

#include "provision/claim_builder.h"
#include "wire/wire.h"

namespace coppice::provision {

namespace {

using Json = nlohmann::json;

constexpr Duration kUnseenAfter = std::chrono::seconds(15);
constexpr Duration kRememberGone = std::chrono::minutes(10);
constexpr Duration kAskWhetherAgain = std::chrono::seconds(1);
// For so long what was sent may still be carried out.
constexpr Duration kMayStillCome = std::chrono::seconds(10);

cluster::ObjectName ClaimNamed(const std::string& name) {
  return {"karpenter.sh/v1", "nodeclaims", "", name, ""};
}

// What turns one value into another, as RFC 7396 has it.
Json DifferenceOf(const Json& before, const Json& after) {
  Json patch = Json::object();
  for (const auto& [key, value] : after.items()) {
    const auto old = before.find(key);
    if (old == before.end()) {
      patch[key] = value;
    } else if (*old != value) {
      patch[key] = old->is_object() && value.is_object() ? DifferenceOf(*old, value) : value;
    }
  }
  for (const auto& [key, value] : before.items()) {
    if (!after.contains(key)) patch[key] = nullptr;
  }
  return patch;
}

bool TouchesList(const Json& patch) {
  if (patch.is_array()) return true;
  return patch.is_object() && std::ranges::any_of(patch, TouchesList);
}

std::string DumpPatch(const Json& patch) {
  return patch.dump(-1, ' ', false, Json::error_handler_t::replace);
}

// Of the metadata only what is ours to say.
Json MetadataOf(const Json& object) {
  Json kept = Json::object();
  const Json metadata = object.value("metadata", Json::object());
  for (const char* key : {"labels", "annotations", "finalizers", "ownerReferences"}) {
    if (metadata.contains(key)) kept[key] = metadata.at(key);
  }
  return kept;
}

Result<ClaimPtr> ClaimFromText(const std::string& json) {
  auto claim = wire::FromJson<model::NodeClaim>(json);
  if (!claim.ok()) return claim.status().Context("reading a NodeClaim that was just written");
  return ClaimPtr(std::make_shared<const model::NodeClaim>(*std::move(claim)));
}

}  // namespace

bool IsOlderVersion(const std::string& version, const std::string& than) {
  uint64_t a = 0;
  uint64_t b = 0;
  const auto parsed_a = std::from_chars(version.data(), version.data() + version.size(), a);
  const auto parsed_b = std::from_chars(than.data(), than.data() + than.size(), b);
  return parsed_a.ec == std::errc() && parsed_b.ec == std::errc() && a < b;
}

std::string MergePatch(const std::string& before, const std::string& after) {
  const Json patch = DifferenceOf(Json::parse(before), Json::parse(after));
  return patch.empty() ? "" : DumpPatch(patch);
}

cluster::ObjectName NameOf(const model::NodeClaim& claim) {
  cluster::ObjectName name = ClaimNamed(claim.metadata.name);
  name.uid = claim.metadata.uid;
  return name;
}
cluster::ObjectName NameOf(const model::NodePool& pool) {
  return {"karpenter.sh/v1", "nodepools", "", pool.metadata.name, pool.metadata.uid};
}
cluster::ObjectName NameOf(const model::Node& node) {
  return {"v1", "nodes", "", node.metadata.name, node.metadata.uid};
}

ClaimPtr ClaimStore::Merged(std::string_view name, ClaimPtr shown) {
  ClaimPtr newest = std::move(shown);
  const auto own = own_.find(name);
  if (own != own_.end()) {
    const auto& written = own->second.claim->metadata;
    const bool caught_up = newest != nullptr && (newest->metadata.uid != written.uid ||
                                                 !IsOlderVersion(newest->metadata.resource_version,
                                                                 written.resource_version));
    if (caught_up) {
      own_.erase(own);
    } else {
      newest = own->second.claim;
    }
  }
  if (newest == nullptr || gone_.contains(newest->metadata.uid)) return nullptr;
  const auto deleted = deleted_.find(newest->metadata.uid);
  if (deleted != deleted_.end() && !newest->metadata.deletion_timestamp) {
    auto leaving = std::make_shared<model::NodeClaim>(*newest);
    leaving->metadata.deletion_timestamp = model::Time{deleted->second};
    return leaving;
  }
  return newest;
}

std::vector<ClaimPtr> ClaimStore::List() {
  const uint64_t version = context_.world().objects<model::NodeClaim>().version();
  if (listed_version_ == version && listed_changes_ == changes_) return list_;
  listed_version_ = version;
  listed_changes_ = changes_;
  list_ = ListAnew();
  return list_;
}

std::vector<ClaimPtr> ClaimStore::ListAnew() {
  std::map<std::string, ClaimPtr, std::less<>> all;
  context_.world().objects<model::NodeClaim>().ForEach(
      [&](const ClaimPtr& claim) { all[claim->metadata.name] = claim; });
  for (const auto& [name, own] : own_) all.try_emplace(name, nullptr);
  std::vector<ClaimPtr> list;
  for (auto& [name, shown] : all) {
    ClaimPtr claim = Merged(name, shown);
    if (claim != nullptr && context_.Manages(claim->spec.node_class_ref))
      list.push_back(std::move(claim));
  }
  return list;
}

std::vector<ClaimStore::FactsPtr> ClaimStore::Facts() {
  std::vector<ClaimPtr> claims = List();
  if (claims == facts_of_) return facts_;
  std::unordered_map<const model::NodeClaim*, FactsPtr> known;
  for (size_t i = 0; i < facts_of_.size(); ++i)
    known.emplace(facts_of_[i].get(), std::move(facts_[i]));
  facts_.clear();
  for (const ClaimPtr& claim : claims) {
    FactsPtr facts;
    if (const auto it = known.find(claim.get()); it != known.end()) facts = it->second;
    if (facts == nullptr) {
      ClaimFacts made = FactsFrom(*claim);
      made.ephemeral = context_.ephemeral_taints();
      facts = std::make_shared<const ClaimFacts>(std::move(made));
    }
    facts_.push_back(std::move(facts));
  }
  facts_of_ = std::move(claims);
  return facts_;
}

ClaimPtr ClaimStore::Find(std::string_view name) {
  return Merged(name, context_.world().objects<model::NodeClaim>().Get("", name));
}

ClaimPtr ClaimStore::Find(const model::NodeClaim& claim) {
  ClaimPtr found = Find(claim.metadata.name);
  return found != nullptr && found->metadata.uid == claim.metadata.uid ? found : nullptr;
}

void ClaimStore::Keep(ClaimPtr claim) {
  const std::string name = claim->metadata.name;
  own_[name] = {std::move(claim), context_.Now()};
  ++changes_;
}

Task<Result<ClaimPtr>> ClaimStore::Create(model::NodeClaim claim) {
  const std::string json = wire::ToJson(claim);
  cluster::ObjectName name = NameOf(claim);
  constexpr int kAttempts = 3;
  Status last;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    auto made = co_await context_.parts.writer.CreateObject(name, json);
    // The name was drawn for this one claim, so who is there is ours: an answer was lost.
    if (!made.ok() && made.status().code() == Code::kAlreadyExists && attempt > 0)
      made = co_await context_.parts.writer.ObjectNow(name);
    if (made.ok()) {
      auto stored = ClaimFromText(*made);
      if (stored.ok()) Keep(*stored);
      co_return stored;
    }
    last = made.status();
    const bool unsure = last.code() == Code::kUnavailable || last.code() == Code::kDeadlineExceeded;
    if (!unsure) co_return last;
  }
  const TimePoint now = context_.Now();
  unsure_[name.name] = {
      .pool = LabelOr(claim.metadata.labels, model::kNodePoolLabel), .since = now, .asked_at = now};
  context_.WakeAt(Later(now, kAskWhetherAgain));
  co_return last;
}

Task<Status> ClaimStore::Write(ClaimPtr before, model::NodeClaim after) {
  const Json old_json = Json::parse(wire::ToJson(*before));
  const Json new_json = Json::parse(wire::ToJson(after));
  Json metadata = DifferenceOf(MetadataOf(old_json), MetadataOf(new_json));
  Json status = DifferenceOf(old_json.value("status", Json::object()),
                             new_json.value("status", Json::object()));
  std::string version = before->metadata.resource_version;
  if (!metadata.empty()) {
    if (TouchesList(metadata)) metadata["resourceVersion"] = version;
    Json patch;
    patch["metadata"] = std::move(metadata);
    const auto written =
        co_await context_.parts.writer.UpdateObject(NameOf(*before), DumpPatch(patch));
    if (!written.ok()) co_return written.status();
    CO_TRY(ClaimPtr stored, ClaimFromText(*written));
    version = stored->metadata.resource_version;
    Keep(std::move(stored));
  }
  if (!status.empty()) {
    Json patch;
    if (TouchesList(status)) patch["metadata"]["resourceVersion"] = version;
    patch["status"] = std::move(status);
    const auto written =
        co_await context_.parts.writer.UpdateStatus(NameOf(*before), DumpPatch(patch));
    if (!written.ok()) co_return written.status();
    CO_TRY(ClaimPtr stored, ClaimFromText(*written));
    Keep(std::move(stored));
  }
  co_return Status::Ok();
}

Task<Status> ClaimStore::Delete(ClaimPtr claim) {
  const Status status = co_await context_.parts.writer.DeleteObject(NameOf(*claim));
  if (!status.ok() && status.code() != Code::kNotFound) co_return status;
  deleted_.try_emplace(claim->metadata.uid, context_.Now());
  if (status.code() == Code::kNotFound) gone_[claim->metadata.uid] = context_.Now();
  ++changes_;
  context_.Wake();
  co_return Status::Ok();
}

Task<Status> ClaimStore::RemoveFinalizer(ClaimPtr claim) {
  cluster::FinalizerChange change;
  change.remove.push_back(model::karpenter::kFinalizer);
  const Status status =
      co_await context_.parts.writer.ChangeFinalizers(NameOf(*claim), std::move(change));
  if (!status.ok() && status.code() != Code::kNotFound) co_return status;
  const bool others = std::ranges::any_of(claim->metadata.finalizers, [](const std::string& name) {
    return name != model::karpenter::kFinalizer;
  });
  if (!others) gone_[claim->metadata.uid] = context_.Now();
  own_.erase(claim->metadata.name);
  ++changes_;
  co_return Status::Ok();
}

void ClaimStore::LookAfterUnseen() {
  if (context_.pretends()) return;  // nothing of what we write is ever shown
  LookAfterUnsure();
  const TimePoint now = context_.Now();
  changes_ +=
      std::erase_if(gone_, [&](const auto& entry) { return now - entry.second > kRememberGone; });
  changes_ += std::erase_if(deleted_,
                            [&](const auto& entry) { return now - entry.second > kRememberGone; });
  for (auto& [name, own] : own_) {
    if (own.asked || now - own.at < kUnseenAfter) continue;
    own.asked = true;
    context_.Spawn(AskFor(name));
  }
}

Task<void> ClaimStore::AskFor(std::string name) {
  const auto answer = co_await context_.parts.writer.ObjectNow(ClaimNamed(name));
  const auto own = own_.find(name);
  if (own == own_.end()) co_return;
  if (!answer.ok() && answer.status().code() == Code::kNotFound) {
    own_.erase(own);
    ++changes_;
    co_return;
  }
  own->second.asked = false;
  own->second.at = context_.Now();
}

std::set<std::string> ClaimStore::UnsurePools() const {
  std::set<std::string> pools;
  for (const auto& [name, unsure] : unsure_) pools.insert(unsure.pool);
  return pools;
}

void ClaimStore::LookAfterUnsure() {
  const TimePoint now = context_.Now();
  std::erase_if(unsure_, [&](const auto& entry) { return Find(entry.first) != nullptr; });
  for (auto& [name, unsure] : unsure_) {
    if (unsure.asking) continue;
    const TimePoint due = Later(unsure.asked_at, kAskWhetherAgain);
    if (now < due) {
      context_.WakeAt(due);
      continue;
    }
    unsure.asking = true;
    context_.Spawn(AskWhether(name));
  }
}

Task<void> ClaimStore::AskWhether(std::string name) {
  const auto answer = co_await context_.parts.writer.ObjectNow(ClaimNamed(name));
  const auto it = unsure_.find(name);
  if (it == unsure_.end()) co_return;
  it->second.asking = false;
  it->second.asked_at = context_.Now();
  if (answer.ok()) {
    auto claim = ClaimFromText(*answer);
    if (!claim.ok()) co_return;
    unsure_.erase(it);
    Keep(*std::move(claim));
  } else if (answer.status().code() == Code::kNotFound &&
             context_.Now() - it->second.since >= kMayStillCome) {
    unsure_.erase(it);
  }
}

}  // namespace coppice::provision
