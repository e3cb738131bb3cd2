#include "grpc/expiry_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/fake_clock.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::grpc {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(ExpiryWatchTest, WarnsOnceADayAndShowsTheMoment) {
  const test::TestAuthority authority;
  const test::TempDirectory dir;
  test::WriteMutualTls(authority, dir);
  SystemClock real;
  std::string logged;
  const Log log(real, [&logged](std::string_view line) { logged += line; }, LogFormat::kText);
  const auto store = MUST(CertificateStore::Open({.cert_file = dir.At("server.crt"),
                                                  .key_file = dir.At("server.key"),
                                                  .ca_file = dir.At("ca.crt")},
                                                 log));
  const TimePoint end = store->Current()->not_after;
  FakeClock clock{end - std::chrono::hours(24 * 30)};
  Metrics metrics;
  ExpiryWatch watch(store, clock, log, metrics, "coppice_provider_");
  EXPECT_THAT(logged, IsEmpty()) << "a month is long enough";
  EXPECT_THAT(metrics.Render(),
              HasSubstr("coppice_provider_certificate_not_after_timestamp_seconds{file=\""));

  clock.Set(end - std::chrono::hours(24 * 13));
  watch.Look();
  EXPECT_THAT(logged, HasSubstr("expires soon"));
  EXPECT_THAT(logged, HasSubstr("312h0m0s"));
  logged.clear();
  clock.Set(clock.Now() + std::chrono::hours(23));
  watch.Look();
  EXPECT_THAT(logged, IsEmpty()) << "once a day";
  clock.Set(clock.Now() + std::chrono::hours(1));
  watch.Look();
  EXPECT_THAT(logged, HasSubstr("expires soon"));
  logged.clear();
  clock.Set(end + std::chrono::hours(24));
  watch.Look();
  EXPECT_THAT(logged, HasSubstr("has expired"));
}

TEST(CertificateExpiryTest, FilesThatSomebodyElseKeepsAreSaidOfOneByOne) {
  const test::TestAuthority authority;
  const test::TempDirectory dir;
  test::WriteMutualTls(authority, dir);
  SystemClock real;
  std::string logged;
  const Log log(real, [&logged](std::string_view line) { logged += line; }, LogFormat::kText);
  FakeClock clock{real.Now() + std::chrono::hours(24 * 365 * 200)};
  Metrics metrics;
  CertificateExpiry expiry(clock, log, metrics, "coppice_api_");
  expiry.LookAtFile(dir.At("server.crt"));
  EXPECT_THAT(logged, HasSubstr("has expired"));
  EXPECT_THAT(logged, HasSubstr("server.crt"));
  logged.clear();
  expiry.LookAtFile(dir.At("server.crt"));
  EXPECT_THAT(logged, IsEmpty()) << "once a day";
  expiry.LookAtFile(dir.At("ca.crt"));
  EXPECT_THAT(logged, HasSubstr("ca.crt")) << "and of another one as well";
  logged.clear();
  expiry.LookAtFile(dir.At("none.crt"));
  EXPECT_THAT(logged, IsEmpty()) << "who uses it says that it is not there";
  EXPECT_THAT(metrics.Render(),
              HasSubstr("coppice_api_certificate_not_after_timestamp_seconds{file=\""));
}

}  // namespace
}  // namespace coppice::grpc
