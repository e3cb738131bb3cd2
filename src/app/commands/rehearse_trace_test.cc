// A trace of machines and pods becomes a log (tools/trace_to_log), and the log is rehearsed.

#include <gmock/gmock.h>

#include <cstdlib>

#include "app/commands/commands.h"
#include "app/main.h"
#include "test/support/test_certificates.h"

namespace coppice::app {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// Twenty pods of an hour each, one every hour: most ask for four cores, every fifth for a GPU.
std::string TwentyPods() {
  std::string text =
      "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,"
      "deletion_time,scheduled_time\n";
  for (int i = 0; i < 20; ++i) {
    const bool gpu = i % 5 == 4;
    text += "pod-" + std::to_string(i) + ",4000,8192," + (gpu ? "1,1000,V100" : "0,0,") + ",LS," +
            "Succeeded," + std::to_string(i * 3600) + "," + std::to_string((i + 1) * 3600) + "," +
            std::to_string(i * 3600 + 5) + "\n";
  }
  return text;
}

TEST(RehearseTraceTest, TwentyRowsOfATraceAreADay) {
  const test::TempDirectory dir;
  const std::string nodes = dir.Write("nodes.csv",
                                      "sn,cpu_milli,memory_mib,gpu,model\na,8000,32768,0,\nb,8000,"
                                      "32768,0,\nc,16000,65536,2,V100\n");
  const std::string pods = dir.Write("pods.csv", TwentyPods());
  const std::string log = dir.At("trace.coplog");
  const std::string convert =
      "python3 tools/trace_to_log " + nodes + " " + pods + " " + log + " >" + dir.At("said");
  ASSERT_EQ(std::system(convert.c_str()), 0) << convert;

  Plugins plugins;
  RegisterDiscoveredPlugins(plugins);
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const int code = RunRehearse({log, "--expander=most-pods"}, plugins);
  const std::string said = testing::internal::GetCapturedStderr();
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(code, 0) << said;
  EXPECT_THAT(text, AllOf(HasSubstr("24.0 hours, 20 pods of 2 shapes"), HasSubstr("2 groups"),
                          HasSubstr("The longest waits:"), HasSubstr("trace/pod-0\n"),
                          Not(HasSubstr("nobody waited"))));
  EXPECT_THAT(text, testing::ContainsRegex("pods started +2[0-9] +2[0-9]\n"));
  EXPECT_THAT(text, testing::ContainsRegex("still waiting at the end +0 +0\n"));
}

}  // namespace
}  // namespace coppice::app
