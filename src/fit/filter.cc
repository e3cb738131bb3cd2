#include "fit/filter.h"

#include <atomic>
#include <bit>

#include "base/check.h"

namespace coppice::fit {
namespace {

std::atomic<uint64_t> last_id{0};

}  // namespace

uint64_t NewMemoryId() { return ++last_id; }

uint64_t NodeCheck::Narrow(std::span<const cluster::NodeIndex> nodes, uint64_t alive) const {
  for (uint64_t left = alive; left != 0; left &= left - 1) {
    const int i = std::countr_zero(left);
    if (!Check(nodes[static_cast<size_t>(i)]).yes()) alive &= ~(uint64_t{1} << i);
  }
  return alive;
}

Filter::Filter() : id_(NewMemoryId()) {}

model::Verdict Filter::Check(const cluster::PodSpecShape&, const cluster::NodeShape&) const {
  CHECK(!"a filter that says AskShapes has to override Check");
  return model::Verdict::Yes();
}

Preparation ShapeFilter::Prepare(const cluster::PodView&, const cluster::Snapshot&) const {
  return Preparation::AskShapes().ForSpec();
}

std::vector<model::ChangeSet> WithoutVolumes(const model::Pod& pod) {
  std::vector<model::ChangeSet> ways;
  model::ChangeSet all;
  for (const model::Volume& volume : pod.spec.volumes) {
    if (volume.empty_dir || volume.host_path || volume.projected) continue;
    const std::string what =
        volume.claim_name ? "the volume claim " + *volume.claim_name : "the volume " + volume.name;
    model::Change drop{.kind = model::ChangeKind::kDropVolume,
                       .subject = volume.name,
                       .text = "it did without " + what};
    ways.push_back({drop});
    all.push_back(std::move(drop));
  }
  if (all.size() > 1) ways.push_back(std::move(all));
  return ways;
}

}  // namespace coppice::fit
