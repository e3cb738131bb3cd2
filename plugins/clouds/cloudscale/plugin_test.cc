// The cloud against scripted answers. test/emulator drives it over real HTTP.

#include <gmock/gmock.h>

#include <fstream>

#include "base/fake_clock.h"
#include "net/fake_http_client.h"
#include "plugins/clouds/cloudscale/cloudscale_cloud.h"
#include "plugins/clouds/cloudscale/options.h"
#include "test/support/must.h"

namespace coppice::clouds::cloudscale {

void Register(cloud::CloudRegistry& registry);

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

constexpr char kServer[] =
    R"({"uuid":"47cec963-fcd2-482f-bdb6-24461b2d47b1","name":"workers-1","status":"changing",)"
    R"("tags":{"k8s-autoscaler-group":"workers"}})";

class CloudscaleCloudTest : public testing::Test {
 protected:
  CloudscaleCloudTest() {
    auto http = std::make_unique<net::FakeHttpClient>();
    http_ = http.get();
    auto api =
        std::make_unique<Api>(ApiOptions{}, std::move(http), TokenSource::Fixed(Secret("s3cret")),
                              clock_, rng_, log_, metrics_);
    cloud_ = std::make_unique<CloudscaleCloud>(std::move(api), CreateOptions{}, clock_, log_);
  }

  Deadline Soon() { return Deadline::In(clock_, seconds(60)); }
  cloud::MachineSpec Spec() {
    return {.name = "workers-1",
            .flavor = "flex-8-2",
            .image = "debian-12",
            .tags = {{cloud::kGroupTag, "workers"}}};
  }
  std::vector<std::string> Sent() {
    std::vector<std::string> sent;
    for (const auto& request : http_->requests()) {
      sent.push_back(request.method + " " +
                     request.url.substr(std::string("https://api.cloudscale.ch").size()));
    }
    return sent;
  }
  double Count(const std::string& operation, const std::string& result) {
    return metrics_
        .GetCounter("autoscaler_cloudscale_api_requests_total", "",
                    {{"operation", operation}, {"result", result}})
        .value();
  }

  FakeClock clock_;
  SeededRng rng_{1};
  Log log_ = Log::Null();
  Metrics metrics_;
  net::FakeHttpClient* http_ = nullptr;
  std::unique_ptr<CloudscaleCloud> cloud_;
};

TEST_F(CloudscaleCloudTest, TagsOfAListAreEncodedAndCheckedAgain) {
  http_->Push(
      200,
      std::string("[") + kServer +
          R"(,{"uuid":"47cec963-fcd2-482f-bdb6-24461b2d47b2","name":"stranger","status":"running"}])");
  const auto machines = MUST(cloud_->List({{cloud::kGroupTag, "workers"}}, Soon()));
  EXPECT_THAT(Sent(), ElementsAre("GET /v1/servers?tag%3Ak8s-autoscaler-group=workers"));
  ASSERT_EQ(machines.size(), 1u) << "a server without the tag is not ours, whatever the API sent";
  EXPECT_EQ(machines[0].name, "workers-1");
  EXPECT_EQ(http_->requests()[0].bearer_token, Secret("s3cret"));

  http_->Push(200, "[]");
  ASSERT_OK(cloud_->List({{"a&b", "c d=\xc3\xa9"}}, Soon()));
  EXPECT_EQ(Sent().back(), "GET /v1/servers?tag%3Aa%26b=c%20d%3D%C3%A9");
}

TEST_F(CloudscaleCloudTest, ThrottledRequestsWaitAsLongAsTheyAreTold) {
  http_->Push(429, R"({"detail":"slow down"})", {{"retry-after", "7"}});
  http_->Push(200, "[]");
  const TimePoint start = clock_.Now();
  ASSERT_OK(cloud_->List({}, Soon()));
  EXPECT_GE(clock_.Now() - start, seconds(7));
  EXPECT_EQ(Count("list_servers", "error"), 1);
  EXPECT_EQ(Count("list_servers", "success"), 1);
}

TEST_F(CloudscaleCloudTest, AWaitBeyondTheDeadlineIsNotBegun) {
  http_->Push(429, "", {{"retry-after", "3600"}});
  const TimePoint start = clock_.Now();
  EXPECT_EQ(cloud_->List({}, Soon()).code(), Code::kUnavailable);
  EXPECT_LT(clock_.Now() - start, seconds(1));
}

TEST_F(CloudscaleCloudTest, AThrottledCreateIsRepeatedForItDidNothing) {
  http_->Push(429, "");
  http_->Push(201, kServer);
  EXPECT_EQ(MUST(cloud_->Create(Spec(), Soon())).name, "workers-1");
  EXPECT_THAT(Sent(), ElementsAre("POST /v1/servers", "POST /v1/servers"));
}

TEST_F(CloudscaleCloudTest, AListIsRepeatedAfterServerErrorsHtmlAndLostAnswers) {
  http_->Push(500, R"({"detail":"oops"})");
  http_->Push(502, "<html>bad gateway</html>");
  http_->Push(Unavailable("connection reset"));
  http_->Push(200, "[]");
  EXPECT_OK(cloud_->List({}, Soon()));
}

TEST_F(CloudscaleCloudTest, AListThatNeverComesIsAnErrorWithTheReason) {
  for (int i = 0; i < 10; ++i) http_->Push(502, "<html><h1>Bad Gateway</h1></html>");
  const auto result = cloud_->List({}, Soon());
  EXPECT_EQ(result.code(), Code::kUnavailable);
  EXPECT_THAT(result.status().message(), HasSubstr("HTTP 502: Bad Gateway"));
  EXPECT_EQ(http_->requests().size(), 4u);
}

TEST_F(CloudscaleCloudTest, ACreateWhoseAnswerIsLostIsLookedForAndNotRepeated) {
  for (const auto& lost : std::vector<Result<net::HttpResponse>>{
           Unavailable("reset"), DeadlineExceeded("timeout"), net::HttpResponse{.status = 500},
           net::HttpResponse{.status = 504, .body = "<html>"},
           net::HttpResponse{.status = 201, .body = "{"}}) {
    http_->Push(lost);
    http_->Push(200, "[]");  // the list lags behind
    http_->Push(500, "");
    http_->Push(200, std::string("[") + kServer + "]");
    auto spec = Spec();
    const auto machine = cloud_->Create(spec, Soon());
    ASSERT_OK(machine);
    EXPECT_EQ(machine->id, "cloudscale://47cec963-fcd2-482f-bdb6-24461b2d47b1");
    clock_.Advance(std::chrono::hours(3));  // forgets the name
  }
  int posts = 0;
  for (const std::string& sent : Sent()) posts += sent.starts_with("POST") ? 1 : 0;
  EXPECT_EQ(posts, 5) << "one per order";
}

TEST_F(CloudscaleCloudTest, ACreateThatIsNeverSeenIsUnknownAndItsRepetitionLooksFirst) {
  http_->Push(Unavailable("reset"));
  for (int i = 0; i < 11; ++i) http_->Push(200, "[]");
  const auto first = cloud_->Create(Spec(), Soon());
  EXPECT_EQ(first.code(), Code::kUnavailable);
  EXPECT_THAT(first.status().message(), HasSubstr("unknown whether"));
  const size_t before = http_->requests().size();

  http_->Push(200, std::string("[") + kServer + "]");
  EXPECT_OK(cloud_->Create(Spec(), Soon()));
  ASSERT_EQ(http_->requests().size(), before + 1);
  EXPECT_EQ(http_->requests().back().method, "GET");
}

TEST_F(CloudscaleCloudTest, RefusalsHaveTheirCodes) {
  const std::vector<std::tuple<int, std::string, Code>> rows = {
      {400, R"({"flavor":"Flavor does not exist."})", Code::kInvalidArgument},
      {400, R"({"detail":"Your quota of servers is exhausted."})", Code::kResourceExhausted},
      {403, R"({"detail":"Server limit reached."})", Code::kResourceExhausted},
      {401, R"({"detail":"Invalid token."})", Code::kUnauthenticated},
      {403, R"({"detail":"No permission."})", Code::kPermissionDenied},
      {409, R"({"detail":"Out of capacity in this zone."})", Code::kResourceExhausted},
      {302, "", Code::kFailedPrecondition}};
  for (const auto& [status, body, code] : rows) {
    http_->Push(status, body);
    const auto result = cloud_->Create(Spec(), Soon());
    EXPECT_EQ(result.code(), code) << body;
    EXPECT_THAT(result.status().message(), HasSubstr("workers-1"));
    EXPECT_THAT(result.status().message(), testing::Not(HasSubstr("s3cret")));
    clock_.Advance(std::chrono::hours(3));
  }
}

TEST_F(CloudscaleCloudTest, DeleteRefusesMalformedIdsBeforeAskingAnybody) {
  EXPECT_EQ(cloud_->Delete("cloudscale://../servers", Soon()).code(), Code::kInvalidArgument);
  EXPECT_TRUE(http_->requests().empty());
  http_->Push(404, R"({"detail":"Not found."})");
  EXPECT_EQ(cloud_->Delete("cloudscale://47cec963-fcd2-482f-bdb6-24461b2d47b1", Soon()).code(),
            Code::kNotFound);
  EXPECT_EQ(Count("delete_server", "success"), 1) << "gone is what was wanted";
}

TEST_F(CloudscaleCloudTest, FollowsPagesOfTheSameApiAndNoOther) {
  http_->Push(200, std::string("[") + kServer + "]",
              {{"link", "<https://api.cloudscale.ch/v1/servers?page=2>; rel=\"next\""}});
  http_->Push(200,
              R"([{"uuid":"47cec963-fcd2-482f-bdb6-24461b2d47b2","name":"b","status":"running"}])");
  EXPECT_EQ(MUST(cloud_->List({}, Soon())).size(), 2u);
  http_->Push(200, "[]", {{"link", "<https://evil.example/v1/servers?page=2>; rel=\"next\""}});
  EXPECT_EQ(cloud_->List({}, Soon()).code(), Code::kInternal) << "never a shorter list";
}

TEST_F(CloudscaleCloudTest, RequestsAreSpreadByOurOwnRateLimit) {
  const TimePoint start = clock_.Now();
  for (int i = 0; i < 600; ++i) {
    http_->Push(200, "[]");
    ASSERT_OK(cloud_->List({}, Soon()));
  }
  EXPECT_NEAR(std::chrono::duration<double>(clock_.Now() - start).count(), 10, 0.2)
      << "100 at once, then 50 per second";
}

TEST_F(CloudscaleCloudTest, TheGpuLabelIsTheGoProviders) {
  EXPECT_EQ(cloud_->GpuLabel(), "cloudscale.ch/gpu-node");
}

TEST(CloudscaleTokenTest, ARotatedFileIsReadAgain) {
  const std::string path = testing::TempDir() + "cloudscale-token-" + std::to_string(::getpid());
  const auto write = [&path](const std::string& text) {
    std::ofstream(path + ".new") << text;
    std::rename((path + ".new").c_str(), path.c_str());
  };
  write("first\n");
  TokenSource source = TokenSource::File(path);
  EXPECT_EQ(MUST(source.Get()), Secret("first"));
  write("second\n");
  EXPECT_EQ(MUST(source.Get()), Secret("second"));
  write("");
  EXPECT_EQ(MUST(source.Get()), Secret("second"))
      << "while a rotation is under way the last good one counts";
  std::remove(path.c_str());
  EXPECT_EQ(MUST(source.Get()), Secret("second"));
  EXPECT_EQ(TokenSource::File(path).Get().code(), Code::kFailedPrecondition);
}

TEST(CloudscaleApiRootTest, TakesTheUrlWithAndWithoutTheVersion) {
  for (const char* url : {"https://api.example", "https://api.example/", "https://api.example/v1",
                          "https://api.example/v1/"}) {
    EXPECT_EQ(MUST(ApiRoot(url)), "https://api.example") << url;
  }
  EXPECT_EQ(MUST(ApiRoot("http://127.0.0.1:80/prefix/v1")), "http://127.0.0.1:80/prefix");
  for (const char* url :
       {"", "api.example", "ftp://x", "https://", "https://user:pass@x", "https://x?y"}) {
    EXPECT_FALSE(ApiRoot(url).ok()) << url;
  }
}

Result<Options> Read(const std::string& text, const std::map<std::string, std::string>& env,
                     yaml::Problems& problems) {
  const auto getenv = [&env](const char* name) {
    const auto it = env.find(name);
    return it == env.end() ? nullptr : it->second.c_str();
  };
  return ReadOptions(MUST(yaml::Parse(text, "config.yaml")), getenv, problems);
}

TEST(CloudscaleOptionsTest, FileCountsBeforeEnvironment) {
  yaml::Problems problems;
  const auto options = MUST(
      Read("kind: cloudscale\napiURL: http://a/v1\nrequestsPerSecond: 5\nproxy: "
           "http://p:3128\ntimeout: 20s\n",
           {{"CLOUDSCALE_API_URL", "http://b"}, {"CLOUDSCALE_ACCESS_TOKEN", " t\n"}}, problems));
  EXPECT_TRUE(problems.all().empty());
  EXPECT_EQ(options.api.root, "http://a");
  EXPECT_EQ(options.token, Secret("t"));
  EXPECT_EQ(options.http.proxy, "http://p:3128");
  EXPECT_EQ(options.http.request_timeout, seconds(20));
  EXPECT_EQ(options.api.limits.per_second, 5);
  EXPECT_EQ(MUST(Read("", {{"CLOUDSCALE_API_URL", "http://b/v1/"}, {"CLOUDSCALE_API_TOKEN", "t"}},
                      problems))
                .api.root,
            "http://b");
}

TEST(CloudscaleOptionsTest, ComplaintsHaveALine) {
  yaml::Problems problems;
  ASSERT_OK(
      Read("kind: cloudscale\napiUrl: x\nburst: 0\n", {{"CLOUDSCALE_API_TOKEN", "t"}}, problems));
  ASSERT_EQ(problems.all().size(), 2u);
  EXPECT_THAT(problems.all()[0].ToString(),
              HasSubstr("config.yaml:3:8: error: burst: must be more than 0"));
  EXPECT_THAT(problems.all()[1].ToString(), HasSubstr("did you mean 'apiURL'?"));
  EXPECT_EQ(Read("", {}, problems).code(), Code::kFailedPrecondition) << "no token";
}

TEST(CloudscalePluginTest, RegistersItsNameAndWhatItsGroupsHaveToSay) {
  cloud::CloudRegistry registry("cloud");
  Register(registry);
  EXPECT_THAT(registry.names(), ElementsAre("cloudscale"));
  EXPECT_THAT(MUST(registry.Find("cloudscale")).required_group_keys(),
              ElementsAre("image", "zone", "volumeSizeGB"));
}

}  // namespace
}  // namespace coppice::clouds::cloudscale
