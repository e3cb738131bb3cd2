// Volcano Jobs as somebody has put them into the API server.

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "batch/controllers/job_objects.h"
#include "batch/controllers/volcano_job.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto job = coppice::batch::ReadVolcanoJob({reinterpret_cast<const char*>(data), size});
  if (!job.ok()) return 0;
  (void)coppice::batch::GroupOfJob(*job);
  for (const coppice::batch::JobTask& task : job->tasks) {
    if (task.replicas > 0) (void)coppice::batch::PodOfJob(*job, task, 0);
  }
  return 0;
}
