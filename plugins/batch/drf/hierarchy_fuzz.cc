// A queue's place in the tree is what somebody has written into its annotations: two lines, the path
// and the weights.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "batch/queue.h"
#include "plugins/batch/drf/hierarchy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace coppice::batch;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const size_t line = std::min(text.find('\n'), text.size());
  QueueInfo queue;
  queue.hierarchy = text.substr(0, line);
  queue.weights = text.substr(std::min(line + 1, text.size()));
  QueueInfo other;
  other.hierarchy = "root/a/b";
  other.weights = "1/2/3";
  Resource total;
  total.cpu = 1'000;
  drf::Hierarchy tree(total);
  for (QueueInfo* of : {&queue, &other}) {
    coppice::model::PodGroup group;
    group.metadata.name = "job";
    Job job(group);
    job.queue = of;
    drf::Attributes attributes;
    attributes.allocated.cpu = 100;
    attributes.share = 0.1;
    (void)tree.Update(job, attributes, attributes.allocated);
  }
  (void)tree.Compare(queue, other);
  (void)tree.Clone().Compare(other, queue);
  return 0;
}
