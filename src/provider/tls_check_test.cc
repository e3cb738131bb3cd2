#include "provider/tls_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::provider {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TlsCheckTest : public testing::Test {
 protected:
  TlsCheckTest() {
    dir_.Write("tls.crt", pair_.cert);
    dir_.Write("tls.key", pair_.key);
    dir_.Write("ca.crt", authority_.pem());
  }

  // One line per complaint, as it is printed.
  std::vector<std::string> Said() {
    const std::string text = "tls:\n  certFile: " + dir_.At("tls.crt") +
                             "\n  keyFile: " + dir_.At("tls.key") +
                             "\n  caFile: " + dir_.At("ca.crt") +
                             "\nclusterTag: a\ncloud: {kind: simulated}\n"
                             "nodeGroups: [{name: a, maxSize: 1, flavor: x}]\n";
    yaml::Problems read;
    const cloud::CloudRegistry clouds("cloud");
    const auto config = MUST(ParseProviderConfig(
        text, "config.yaml", {clouds, [](const char*) -> const char* { return nullptr; }},
        [](const std::string& path) -> Result<std::string> { return NotFound(path); }, read));
    yaml::Problems problems;
    CheckTlsFiles(config, now_, problems);
    std::vector<std::string> said;
    for (const yaml::Problem& problem : problems.all()) said.push_back(problem.ToString());
    return said;
  }

  const test::TestAuthority authority_;
  const test::PemPair pair_ = authority_.Issue("provider", {"localhost"});
  const test::TempDirectory dir_;
  TimePoint now_ = SystemClock().Now();
};

TEST_F(TlsCheckTest, FilesThatFitAreNothingToSay) { EXPECT_THAT(Said(), IsEmpty()); }

TEST_F(TlsCheckTest, AKeyOfAnotherCertificateIsAnErrorAtItsLine) {
  dir_.Write("tls.key", authority_.Issue("other", {}).key);
  EXPECT_THAT(Said(), ElementsAre(AllOf(HasSubstr("config.yaml:2:"), HasSubstr(": error: "),
                                        HasSubstr("tls.certFile"),
                                        HasSubstr("does not belong to the certificate"))));
}

TEST_F(TlsCheckTest, WhatIsNoCertificateIsAnErrorAtItsLine) {
  dir_.Write("ca.crt", "nonsense\n");
  EXPECT_THAT(Said(),
              ElementsAre(AllOf(HasSubstr("config.yaml:4:"), HasSubstr(": error: "),
                                HasSubstr("tls.caFile"), HasSubstr("holds no PEM certificate"))));
}

TEST_F(TlsCheckTest, CertificatesThatHaveEndedAreErrors) {
  now_ += std::chrono::hours(24 * 365);
  EXPECT_THAT(Said(), ElementsAre(AllOf(HasSubstr("config.yaml:2:"), HasSubstr(": error: "),
                                        HasSubstr("the certificate of CN=provider ended at ")),
                                  AllOf(HasSubstr("config.yaml:4:"), HasSubstr("ended at "))));
}

TEST_F(TlsCheckTest, AFileThatIsNotHereIsAWarning) {
  std::filesystem::remove(dir_.At("tls.key"));
  EXPECT_THAT(Said(), ElementsAre(AllOf(HasSubstr("config.yaml:3:"), HasSubstr(": warning: "),
                                        HasSubstr("tls.key is not here"))));
}

}  // namespace
}  // namespace coppice::provider
