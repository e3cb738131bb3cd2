#include "app/health_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/metrics.h"
#include "test/support/test_certificates.h"

namespace coppice::app {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::SizeIs;

TEST(HealthPageTest, ErrorsThatWereCountedAreShownAndOthersAreNot) {
  Metrics metrics;
  metrics.GetCounter("cluster_autoscaler_errors_total", "", {{"type", "cloudProviderError"}})
      .Add(3);
  metrics.GetCounter("cluster_autoscaler_errors_total", "", {{"type", "internalError"}}).Add(0);
  metrics.GetCounter("karpenter_cloudprovider_errors_total", "", {{"error", "a {b} \"c\""}}).Add(1);
  metrics
      .GetCounter("karpenter_cloudprovider_errors_total", "", {{"error", "NodeClaimNotFoundError"}})
      .Add(7);
  metrics.GetCounter("cluster_autoscaler_scaled_up_nodes_total", "").Add(9);
  report::JsonOut out;
  out.Open('{');
  WriteErrors(out, metrics.Render());
  const json shown = json::parse(out.Close('}').Take())["errors"];
  ASSERT_THAT(shown, SizeIs(2));
  EXPECT_EQ(shown[0]["name"], "cluster_autoscaler_errors_total");
  EXPECT_EQ(shown[0]["labels"], "type=\"cloudProviderError\"");
  EXPECT_EQ(shown[0]["count"], 3);
  EXPECT_EQ(shown[1]["labels"], "error=\"a {b} \\\"c\\\"\"");
}

TEST(HealthPageTest, ACertificateSaysWhenItEndsOrWhyNobodyKnows) {
  const test::TestAuthority authority;
  const test::TempDirectory dir;
  std::vector<CertificateShown> shown;
  AddCertificateFile(dir.Write("a.crt", authority.Issue("a", {}).cert), "ours", shown);
  AddCertificateFile(dir.Write("b.crt", "nonsense"), "theirs", shown);
  AddCertificateFile("", "nobody's", shown);
  AddCertificates("x_certificate_not_after_timestamp_seconds{file=\"/c\"} 1790000000\n", shown);
  report::JsonOut out;
  out.Open('{');
  WriteCertificates(out, "certificates", shown);
  const json list = json::parse(out.Close('}').Take())["certificates"];
  ASSERT_THAT(list, SizeIs(3));
  EXPECT_GT(list[0]["notAfter"], 1'700'000'000);
  EXPECT_THAT(list[1]["error"].get<std::string>(), HasSubstr("no PEM certificate"));
  EXPECT_EQ(list[2]["notAfter"], 1'790'000'000);
  EXPECT_EQ(list[2]["what"], "file=\"/c\"");
}

}  // namespace
}  // namespace coppice::app
