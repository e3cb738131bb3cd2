#include "grpc/credentials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "base/fake_clock.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::grpc {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class CertificateStoreTest : public testing::Test {
 protected:
  TlsFiles WriteAll(const test::PemPair& pair) const {
    return {.cert_file = dir_.Write("tls.crt", pair.cert),
            .key_file = dir_.Write("tls.key", pair.key),
            .ca_file = dir_.Write("ca.crt", authority_.pem())};
  }

  test::TestAuthority authority_;
  test::TempDirectory dir_;
  FakeClock clock_;
  std::string lines_;
  Log log_{clock_, [this](std::string_view line) { lines_ += line; }, LogFormat::kJson};
};

TEST_F(CertificateStoreTest, ReadsAPairThatFits) {
  const auto material = MUST(ReadTlsFiles(WriteAll(authority_.Issue("provider", {"localhost"}))));
  EXPECT_EQ(material.subject, "CN=provider");
  EXPECT_GT(material.not_after, TimePoint());
}

TEST_F(CertificateStoreTest, NamesTheFileThatIsMissing) {
  TlsFiles files = WriteAll(authority_.Issue("provider", {"localhost"}));
  files.key_file = dir_.At("absent.key");
  const auto read = ReadTlsFiles(files);
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.status().message(), HasSubstr("absent.key"));
}

TEST_F(CertificateStoreTest, RefusesAtStartAKeyOfAnotherCertificate) {
  const auto files =
      WriteAll({.cert = authority_.Issue("a", {}).cert, .key = authority_.Issue("b", {}).key});
  const auto store = CertificateStore::Open(files, log_);
  ASSERT_FALSE(store.ok());
  EXPECT_THAT(store.status().message(), HasSubstr("does not belong to the certificate"));
}

TEST_F(CertificateStoreTest, RefusesTextThatIsNoCertificate) {
  auto files = WriteAll(authority_.Issue("provider", {}));
  dir_.Write("ca.crt", "-----BEGIN CERTIFICATE-----\nnonsense\n-----END CERTIFICATE-----\n");
  EXPECT_THAT(ReadTlsFiles(files).status().message(), HasSubstr("holds no PEM certificate"));
}

TEST_F(CertificateStoreTest, TakesANewPairIntoUse) {
  const auto store = MUST(CertificateStore::Open(WriteAll(authority_.Issue("old", {})), log_));
  WriteAll(authority_.Issue("new", {}));
  EXPECT_EQ(store->Current()->subject, "CN=new");
  EXPECT_THAT(lines_, HasSubstr("certificates read again"));
}

TEST_F(CertificateStoreTest, KeepsTheOldPairWhenTheNewOneDoesNotFitAndSaysSoOnce) {
  const auto store = MUST(CertificateStore::Open(WriteAll(authority_.Issue("old", {})), log_));
  dir_.Write("tls.crt", authority_.Issue("new", {}).cert);  // its key is not there yet

  EXPECT_EQ(store->Current()->subject, "CN=old");
  EXPECT_THAT(lines_, HasSubstr("the old ones stay in use"));
  lines_.clear();
  EXPECT_EQ(store->Current()->subject, "CN=old");
  EXPECT_EQ(lines_, "");

  WriteAll(authority_.Issue("whole", {}));
  EXPECT_EQ(store->Current()->subject, "CN=whole");
}

TEST_F(CertificateStoreTest, FollowsTheLinkThatKubernetesSwaps) {
  namespace fs = std::filesystem;
  const auto publish = [&](const std::string& name) {
    const test::PemPair pair = authority_.Issue(name, {});
    fs::create_directory(dir_.path() / name);
    dir_.Write(name + "/tls.crt", pair.cert);
    dir_.Write(name + "/tls.key", pair.key);
    dir_.Write(name + "/ca.crt", authority_.pem());
    fs::create_directory_symlink(name, dir_.path() / "..next");
    fs::rename(dir_.path() / "..next", dir_.path() / "..data");
  };
  publish("v1");
  for (const char* file : {"tls.crt", "tls.key", "ca.crt"}) {
    fs::create_symlink(fs::path("..data") / file, dir_.path() / file);
  }
  const auto store = MUST(CertificateStore::Open({.cert_file = dir_.At("tls.crt"),
                                                  .key_file = dir_.At("tls.key"),
                                                  .ca_file = dir_.At("ca.crt")},
                                                 log_));
  EXPECT_EQ(store->Current()->subject, "CN=v1");

  publish("v2");

  EXPECT_EQ(store->Current()->subject, "CN=v2");
  EXPECT_EQ(store->version(), 2U);
  EXPECT_THAT(lines_, Not(HasSubstr("stay in use")));
}

}  // namespace
}  // namespace coppice::grpc
