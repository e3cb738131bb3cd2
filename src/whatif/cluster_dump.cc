#include "whatif/cluster_dump.h"

#include <utility>

#include "wire/wire.h"

namespace coppice::whatif {
namespace {

constexpr size_t kPiece = 100'000;  // bytes: a millisecond's work

template <class T>
class ObjectsOf final : public ClusterDump::Kind {
 public:
  using List = std::vector<std::shared_ptr<const T>>;
  explicit ObjectsOf(List objects) : objects_(std::move(objects)) {}
  size_t size() const override { return objects_.size(); }
  void AddTo(std::string& text, size_t index) const override {
    text += wire::ToJson(*objects_[index]);
  }

 private:
  const List objects_;
};

template <class T>
std::unique_ptr<const ClusterDump::Kind> Of(std::vector<std::shared_ptr<const T>> objects) {
  return std::make_unique<const ObjectsOf<T>>(std::move(objects));
}

std::vector<cluster::PodPtr> PodsOf(const cluster::World& world) {
  std::vector<cluster::PodPtr> pods;
  pods.reserve(world.pod_count());
  for (const auto* entry : world.Pods()) pods.push_back(entry->pod);
  return pods;
}

}  // namespace

ClusterDump::ClusterDump(const cluster::World& world) {
  kinds_.push_back(Of(world.Nodes()));
  kinds_.push_back(Of(PodsOf(world)));
  kinds_.push_back(Of(world.objects<model::PodDisruptionBudget>().List()));
  kinds_.push_back(Of(world.objects<model::DaemonSet>().List()));
  kinds_.push_back(Of(world.objects<model::ReplicaSet>().List()));
  kinds_.push_back(Of(world.objects<model::ReplicationController>().List()));
  kinds_.push_back(Of(world.objects<model::StatefulSet>().List()));
  kinds_.push_back(Of(world.objects<model::Job>().List()));
  kinds_.push_back(Of(world.objects<model::Namespace>().List()));
  kinds_.push_back(Of(world.objects<model::Service>().List()));
  kinds_.push_back(Of(world.objects<model::PersistentVolumeClaim>().List()));
  kinds_.push_back(Of(world.objects<model::PersistentVolume>().List()));
  kinds_.push_back(Of(world.objects<model::StorageClass>().List()));
  kinds_.push_back(Of(world.objects<model::CsiNode>().List()));
  kinds_.push_back(Of(world.objects<model::CsiDriver>().List()));
  kinds_.push_back(Of(world.objects<model::CsiStorageCapacity>().List()));
  kinds_.push_back(Of(world.objects<model::VolumeAttachment>().List()));
}

void ClusterDump::Next(std::string& text) {
  if (over_) return;
  const size_t start = text.size();
  bool first = !begun_;
  if (!std::exchange(begun_, true)) text += R"({"apiVersion":"v1","kind":"List","items":[)";
  for (; kind_ < kinds_.size(); ++kind_, index_ = 0) {
    for (; index_ < kinds_[kind_]->size(); ++index_) {
      if (text.size() - start >= kPiece) return;
      if (!std::exchange(first, false)) text += ",\n";
      kinds_[kind_]->AddTo(text, index_);
    }
  }
  text += "]}\n";
  over_ = true;
}

net::ServerResponse ClusterDumps::Answer() {
  if (!under_way_.expired()) {
    return {.status = 503,
            .headers = {{"Retry-After", "5"}},
            .body = "another snapshot is being read\n"};
  }
  const auto turn = std::make_shared<const int>();  // lives as long as anybody needs the dump
  under_way_ = turn;
  net::ServerResponse response{.content_type = "application/json"};
  response.stream = [this, turn](std::shared_ptr<net::ServerStream> stream) {
    decide_([this, turn, stream] {
      const auto dump = std::make_shared<ClusterDump>(world_);
      stream->WriteFrom([turn, dump](std::string& piece) { dump->Next(piece); });
    });
  };
  return response;
}

}  // namespace coppice::whatif
