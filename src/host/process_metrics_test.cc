#include "host/process_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace coppice::host {
namespace {

using ::testing::HasSubstr;

TEST(ProcessMetricsTest, AreThoseOfPrometheusLibraries) {
  const std::string page = ProcessMetrics();
  for (const char* name : {"process_cpu_seconds_total", "process_resident_memory_bytes",
                           "process_virtual_memory_bytes", "process_start_time_seconds",
                           "process_open_fds", "process_max_fds"}) {
    EXPECT_THAT(page, HasSubstr(std::string("# TYPE ") + name));
  }
}

}  // namespace
}  // namespace coppice::host
