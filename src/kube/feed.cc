#include "kube/feed.h"

#include <algorithm>
#include <utility>

#include "base/go_duration.h"
#include "base/strings.h"
#include "wire/time_text.h"

namespace coppice::kube {
namespace {

constexpr Duration kSyncPoll = std::chrono::milliseconds(20);
constexpr Duration kTellEvery = std::chrono::seconds(10);

// Pods that have ended take no room and hold no node.
constexpr char kLivePods[] = "status.phase!=Succeeded,status.phase!=Failed";

bool ReadyOf(const model::Node& node) {
  const auto it = std::ranges::find(node.status.conditions, "Ready", &model::NodeCondition::type);
  return it != node.status.conditions.end() && it->status == "True";
}

}  // namespace

Reflector& ClusterFeed::AddErased(KindCodec codec, Reflector::Upsert upsert,
                                  Reflector::Remove remove, Reflector::Changed changed,
                                  KindOptions options) {
  ReflectorOptions reading;
  reading.codec = std::move(codec);
  if (!options.name.empty()) reading.codec.kind = std::move(options.name);
  reading.path = std::move(options.path);
  reading.field_selector = std::move(options.field_selector);
  reading.optional = options.optional;
  // A refusal while the required kinds cannot be read, either, says nothing about this one.
  reading.may_believe = [this] { return CanReadTheRequired(); };
  reading.stream_first = options_.stream_first;
  if (options_.absent_backoff) reading.absent_backoff = *options_.absent_backoff;
  reflectors_.push_back(std::make_unique<Reflector>(
      std::move(reading), client_, log_, std::move(upsert), std::move(remove), std::move(changed)));
  Reflector& added = *reflectors_.back();
  if (started_) client_.executor().Spawn(added.Run());
  return added;
}

ClusterFeed::ClusterFeed(FeedOptions options, cluster::World& world, Client& client, const Log& log)
    : options_(std::move(options)), world_(world), client_(client), log_(log) {
  nodes_ = &Add<model::Node>({.upsert =
                                  [this](std::shared_ptr<const model::Node> node) {
                                    const bool news =
                                        IsNews(world_.FindNode(node->metadata.name).get(), *node);
                                    world_.UpsertNode(std::move(node));
                                    if (news && on_nodes) on_nodes();
                                  },
                              .remove =
                                  [this](std::string_view, std::string_view name) {
                                    world_.DeleteNode(name);
                                    if (on_nodes) on_nodes();
                                  }},
                             {.optional = false});
  pods_ = &Add<model::Pod>({.upsert = [this](auto pod) { PutPod(std::move(pod)); },
                            .remove =
                                [this](std::string_view ns, std::string_view name) {
                                  world_.DeletePod(ns, name);
                                  if (on_pod_gone) on_pod_gone();
                                }},
                           {.optional = false, .field_selector = kLivePods});

  const KindOptions required{.optional = false};
  AddToWorld<model::PodDisruptionBudget>(required);
  AddToWorld<model::DaemonSet>(required);
  AddToWorld<model::ReplicaSet>(required);
  AddToWorld<model::StatefulSet>(required);
  AddToWorld<model::ReplicationController>(required);
  AddToWorld<model::Job>(required);
  AddToWorld<model::Namespace>();
  AddToWorld<model::Service>();
  AddToWorld<model::PersistentVolumeClaim>();
  AddToWorld<model::PersistentVolume>();
  AddToWorld<model::StorageClass>();
  AddToWorld<model::CsiNode>();
  AddToWorld<model::CsiDriver>();
  AddToWorld<model::CsiStorageCapacity>();
  AddToWorld<model::VolumeAttachment>();
  if (!options_.config_map_name.empty()) {
    AddToWorld<model::ConfigMap>(
        {.path = "/api/v1/namespaces/" + options_.config_map_namespace + "/configmaps",
         .field_selector = "metadata.name=" + options_.config_map_name});
  }
}

void ClusterFeed::PutPod(std::shared_ptr<const model::Pod> pod) {
  const bool pending =
      pod->spec.node_name.empty() && !pod->metadata.deletion_timestamp && !pod->metadata.unreadable;
  const bool news = IsNews(*pod);
  world_.UpsertPod(pod);
  if (pending && on_pending) on_pending(*pod);
  if (news && on_nodes) on_nodes();
}

bool ClusterFeed::SayTheSame(const model::Labels& before, const model::Labels& now) const {
  if (!options_.telling_annotations || before == now) return true;
  const auto all_in = [this](const model::Labels& of, const model::Labels& other) {
    return std::ranges::all_of(of, [&](const auto& annotation) {
      const auto tells = [&](const std::string& prefix) {
        return annotation.first.starts_with(prefix);
      };
      if (std::ranges::none_of(*options_.telling_annotations, tells)) return true;
      const auto same = other.find(annotation.first);
      return same != other.end() && same->second == annotation.second;
    });
  };
  return all_in(before, now) && all_in(now, before);
}

bool ClusterFeed::IsNews(const model::Node* before, const model::Node& now) const {
  return before == nullptr || ReadyOf(*before) != ReadyOf(now) || before->spec != now.spec ||
         before->status.allocatable != now.status.allocatable ||
         (options_.telling_annotations && before->metadata.labels != now.metadata.labels) ||
         !SayTheSame(before->metadata.annotations, now.metadata.annotations);
}

// Of a pod that stays where it is; one that comes or goes is told of otherwise. The first list is
// long, and nobody has been told anything yet.
bool ClusterFeed::IsNews(const model::Pod& now) const {
  if (!options_.telling_annotations || now.spec.node_name.empty() || !pods_->synced()) return false;
  const cluster::PodPtr before = world_.FindPod(now.metadata.namespace_, now.metadata.name);
  return before != nullptr && !SayTheSame(before->metadata.annotations, now.metadata.annotations);
}

bool ClusterFeed::CanReadTheRequired() const {
  return std::ranges::all_of(reflectors_, [](const auto& r) {
    return r->optional() || (r->synced() && r->trouble().ok());
  });
}

void ClusterFeed::Start() {
  started_ = true;
  for (const auto& reflector : reflectors_) client_.executor().Spawn(reflector->Run());
}

bool ClusterFeed::synced() const {
  return std::ranges::all_of(reflectors_, [](const auto& r) { return r->synced(); });
}

std::string ClusterFeed::Missing() const {
  std::vector<std::string> missing;
  for (const auto& reflector : reflectors_) {
    if (reflector->synced()) continue;
    const Status& trouble = reflector->trouble();
    missing.push_back(reflector->kind() + (trouble.ok() ? "" : " (" + trouble.message() + ")"));
  }
  return Join(missing, ", ");
}

Task<Status> ClusterFeed::WaitUntilSynced(Deadline deadline) {
  const Clock& clock = client_.executor().clock();
  TimePoint tell = clock.Now() + kTellEvery;
  while (!synced()) {
    if (deadline.Passed(clock)) co_return DeadlineExceeded("not seen yet: " + Missing());
    if (clock.Now() >= tell) {
      log_.Info("waiting until the cluster has been read", {{"missing", Missing()}});
      tell = clock.Now() + kTellEvery;
    }
    co_await client_.executor().Sleep(kSyncPoll);
  }
  co_return Status::Ok();
}

Duration ClusterFeed::view_age() const {
  const TimePoint heard = std::min(nodes_->last_heard(), pods_->last_heard());
  return std::max(Duration::zero(), client_.executor().clock().Now() - heard);
}

const std::string& ClusterFeed::oldest_kind() const {
  return (nodes_->last_heard() < pods_->last_heard() ? nodes_ : pods_)->kind();
}

std::vector<ClusterFeed::KindAge> ClusterFeed::Ages() const {
  const TimePoint now = client_.executor().clock().Now();
  std::vector<KindAge> ages;
  for (const auto& reflector : reflectors_) {
    if (reflector->forbidden()) continue;  // empty, whatever the time
    const TimePoint heard = reflector->last_heard();
    ages.push_back({.kind = reflector->kind(),
                    .synced = reflector->synced(),
                    .heard = heard,
                    .age = std::max(Duration::zero(), now - heard)});
  }
  return ages;
}

std::string ClusterFeed::StaleKinds(Duration limit) const {
  std::vector<std::string> stale;
  for (const KindAge& kind : Ages()) {
    if (!kind.synced || kind.age <= limit) continue;
    const auto ago = std::chrono::duration_cast<std::chrono::seconds>(kind.age);
    stale.push_back(kind.kind + " has not been read since " + wire::FormatRfc3339(kind.heard) +
                    " (" + FormatGoDuration(ago) + " ago)");
  }
  return Join(stale, ", ");
}

std::vector<ClusterFeed::UnreadableObject> ClusterFeed::Unreadable() const {
  std::vector<UnreadableObject> all;
  for (const auto& reflector : reflectors_) {
    for (const auto& [name, why] : reflector->unreadable())
      all.push_back({.kind = reflector->kind(), .name = name, .why = why});
    const model::Unreadable nameless{.what = "not even its name", .reason = "nameless"};
    all.insert(all.end(), reflector->nameless(), {.kind = reflector->kind(), .why = nameless});
  }
  return all;
}

}  // namespace coppice::kube
