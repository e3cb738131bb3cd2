#include "net/url.h"

#include <gmock/gmock.h>

#include "test/support/must.h"

namespace coppice::net {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Pair;

TEST(UrlTest, TakesAUrlApart) {
  const Url url = MUST(ParseUrl("HTTPS://API.Example.com:8443/v1/servers%20x?tag:a=b&c#top"));
  EXPECT_EQ(url.scheme, "https");
  EXPECT_EQ(url.host, "api.example.com");
  EXPECT_EQ(url.port, 8443);
  EXPECT_EQ(url.path, "/v1/servers%20x");
  EXPECT_EQ(url.query, "tag:a=b&c");
  EXPECT_EQ(url.Authority(), "api.example.com:8443");
  EXPECT_EQ(url.ToString(), "https://api.example.com:8443/v1/servers%20x?tag:a=b&c");
}

TEST(UrlTest, FillsInWhatIsLeftOut) {
  const Url url = MUST(ParseUrl("http://host"));
  EXPECT_EQ(url.path, "/");
  EXPECT_EQ(url.port, std::nullopt);
  EXPECT_EQ(url.PortOrDefault(), 80);
  EXPECT_EQ(MUST(ParseUrl("https://host?x")).ToString(), "https://host/?x");
  EXPECT_EQ(MUST(ParseUrl("https://host")).PortOrDefault(), 443);
}

TEST(UrlTest, BracketsIpv6) {
  const Url url = MUST(ParseUrl("http://[2001:DB8::1]:80/x"));
  EXPECT_EQ(url.host, "2001:db8::1");
  EXPECT_EQ(url.ToString(), "http://[2001:db8::1]:80/x");
}

TEST(UrlTest, RefusesWhatIsNone) {
  for (const std::string_view text : {"",
                                      "host",
                                      "/path",
                                      "://host",
                                      "http://",
                                      "http:///path",
                                      "1http://host",
                                      "ht_tp://host",
                                      "http://ho st",
                                      "http://h\tost",
                                      "http://host/\n",
                                      "http://host:",
                                      "http://host:x",
                                      "http://host:65536",
                                      "http://host:-1",
                                      "http://[::1",
                                      "http://[zz]",
                                      "http://[::1]x",
                                      "http://ho%20st",
                                      "http://host/%",
                                      "http://host/%4",
                                      "http://host/%zz",
                                      "http://host?%",
                                      "http://h\\ost",
                                      "http://host/\xC3\xA4"}) {
    EXPECT_EQ(ParseUrl(text).code(), Code::kInvalidArgument) << text;
  }
}

TEST(UrlTest, RefusesCredentialsWithoutRepeatingThem) {
  const Status status = ParseUrl("https://user:hunter2@host/").status();
  EXPECT_THAT(status.message(), HasSubstr("do not belong into a URL"));
  EXPECT_THAT(status.message(), Not(HasSubstr("hunter2")));
}

TEST(TargetTest, DecodesPathAndQuery) {
  const Target target = MUST(ParseTarget("/a%20b/c?x=1&y=a+b%2B&flag&&=v"));
  EXPECT_EQ(target.path, "/a b/c");
  EXPECT_THAT(target.query,
              ElementsAre(Pair("x", "1"), Pair("y", "a b+"), Pair("flag", ""), Pair("", "v")));
  EXPECT_THAT(MUST(ParseTarget("/")).query, IsEmpty());
}

TEST(TargetTest, AcceptsTheAbsoluteForm) {
  const Target target = MUST(ParseTarget("http://host:80/metrics?x=1"));
  EXPECT_EQ(target.path, "/metrics");
  EXPECT_THAT(target.query, ElementsAre(Pair("x", "1")));
}

TEST(TargetTest, ResolvesDotsAndNeverClimbs) {
  EXPECT_EQ(MUST(ParseTarget("/a/./b/../c")).path, "/a/c");
  EXPECT_EQ(MUST(ParseTarget("/a/..")).path, "/");
  EXPECT_EQ(MUST(ParseTarget("/a/.")).path, "/a/");
  EXPECT_EQ(MUST(ParseTarget("/a/...")).path, "/a/...");
  for (const std::string_view text :
       {"/..", "/../etc/passwd", "/a/../../b", "/%2e%2e/x", "/a/%2E./..%2f../x", "/.%2e"}) {
    EXPECT_EQ(ParseTarget(text).code(), Code::kInvalidArgument) << text;
  }
}

TEST(TargetTest, RefusesMalformedOnes) {
  for (const std::string_view text :
       {"", "metrics", "*", "/%", "/%0", "/%00", "/a%0ab", "/a b", "/\xFF", "/?%"}) {
    EXPECT_EQ(ParseTarget(text).code(), Code::kInvalidArgument) << text;
  }
}

TEST(HostPortTest, ReadsAndPrints) {
  for (const std::string_view text : {"127.0.0.1:8080", "[::1]:0", ":9090", "name.example:65535"}) {
    EXPECT_EQ(ToString(MUST(ParseHostPort(text))), text);
  }
  EXPECT_EQ(MUST(ParseHostPort("[::1]:80")).host, "::1");
  for (const std::string_view text : {"", "host", "host:", "::1:80", "host:80x", "a/b:80"}) {
    EXPECT_EQ(ParseHostPort(text).code(), Code::kInvalidArgument) << text;
  }
}

TEST(PercentTest, EncodesEverythingButUnreserved) {
  EXPECT_EQ(PercentEncode("aZ0-._~ /?&=+%\xC3\xA4"), "aZ0-._~%20%2F%3F%26%3D%2B%25%C3%A4");
  EXPECT_EQ(MUST(PercentDecode("a%2fB+")), "a/B+");
}

TEST(QueryTest, PrintsAndReads) {
  const QueryItems items = {{"tag:k8s", "a b"}, {"tag:k8s", "&="}};
  EXPECT_EQ(FormatQuery(items), "tag%3Ak8s=a%20b&tag%3Ak8s=%26%3D");
  EXPECT_EQ(MUST(ParseQuery(FormatQuery(items))), items);
}

}  // namespace
}  // namespace coppice::net
