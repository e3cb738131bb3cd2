// Asking a running instance, as processes: `coppice explain` and `top`, as a plug-in of kubectl and
// through its port-forward, with tokens and certificates; and a replica that stands by.

#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "net/http_client.h"
#include "test/e2e/child.h"
#include "test/support/api_kinds.h"
#include "test/support/api_schema.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::test {
namespace {

using AskedJson = nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Said {
  int code = 0;
  std::string text;
};

std::string ReadWhole(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class AskE2eTest : public testing::Test {
 protected:
  static Said Run(std::vector<std::string> command,
                  const std::map<std::string, std::string>& environment = {}) {
    Child child(std::move(command), environment);
    const int code = child.Wait();
    return {code, child.output()};
  }
  static Said Coppice(std::vector<std::string> words,
                      const std::map<std::string, std::string>& environment = {}) {
    words.insert(words.begin(), COPPICE_BINARY);
    return Run(std::move(words), environment);
  }

  // "http://127.0.0.1:40531", once it serves.
  static std::string UrlOf(Child& child) {
    const auto line = child.WaitForLine("ashboard");
    const size_t begin = line ? line->find("http") : std::string::npos;
    if (begin == std::string::npos) return "no dashboard: " + child.output();
    std::string url = line->substr(begin, line->find_first_of("\" ", begin) - begin);
    while (url.ends_with('/')) url.pop_back();
    return url;
  }
  static std::string PortOf(const std::string& url) { return url.substr(url.rfind(':') + 1); }

  Result<net::HttpResponse> Send(const std::string& url, const std::string& body = "",
                                 net::HttpClientOptions options = {}) {
    options.proxy = "";
    const auto client = MUST(net::MakeHttpClient(options, clock_));
    net::HttpRequest request{.method = body.empty() ? "GET" : "POST", .url = url};
    if (!body.empty()) request.headers = {{"Content-Type", "application/json"}};
    request.body = body;
    return client->Send(request, Deadline::In(clock_, std::chrono::seconds(5)));
  }
  AskedJson Get(const std::string& url) {
    const auto answer = Send(url);
    return answer.ok() ? AskedJson::parse(answer->body, nullptr, false) : AskedJson();
  }
  bool Until(const std::function<bool()>& done) {
    const TimePoint give_up = clock_.Now() + std::chrono::seconds(60);
    while (!done() && clock_.Now() < give_up) clock_.SleepFor(std::chrono::milliseconds(20));
    return done();
  }

  // A model cluster on which something waits, and that stands still from then on.
  std::unique_ptr<Child> Model(std::vector<std::string> more = {}) {
    std::vector<std::string> command = {COPPICE_BINARY,      "run",
                                        "--seed=7",          "--speed=1000",
                                        "--for=720h",        "--web-address=127.0.0.1:0",
                                        "--cores-total=0:20"};  // less than its load wants
    command.insert(command.end(), more.begin(), more.end());
    return std::make_unique<Child>(command);
  }
  void WaitForWhatWaits(const std::string& url) {
    ASSERT_TRUE(Until([&] {
      FindWhatWaits(url);
      if (pod_.empty()) return false;
      EXPECT_EQ(MUST(Send(url + "/api/v1/control", R"({"paused":true})")).status, 200);
      clock_.SleepFor(
          std::chrono::milliseconds(300));  // until what stands still has been looked at
      FindWhatWaits(url);                   // it may have found its place in this moment
      if (pod_.empty()) (void)Send(url + "/api/v1/control", R"({"paused":false})");
      return !pod_.empty();
    }));
  }
  void FindWhatWaits(const std::string& url) {
    pod_.clear();
    state_ = Get(url + "/api/v1/state");
    for (const auto& [key, shape] : state_["pending"].items()) {
      if (shape.contains("verdict"))
        pod_ = shape["namespace"].get<std::string>() + "/" + shape["pods"][0].get<std::string>();
    }
  }

  // A kubectl that forwards to what stands there already, and notes what it was asked.
  std::map<std::string, std::string> FakeKubectl(const std::string& script) {
    const std::string path =
        dir_.Write("kubectl", "#!/bin/sh\necho \"$@\" >>" + dir_.At("asked") + "\n" + script +
                                  "\necho \"Forwarding from 127.0.0.1:$port "
                                  "-> 8086\"\nexec sleep 60\n");
    std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    return {{"PATH", dir_.path().string() + ":" + std::getenv("PATH")}};
  }
  std::string Asked() { return ReadWhole(dir_.At("asked")); }

  SystemClock clock_;
  TempDirectory dir_;
  AskedJson state_;
  std::string pod_;  // that waits
};

TEST_F(AskE2eTest, EverySubjectIsExplained) {
  const auto model = Model();
  const std::string url = UrlOf(*model);
  WaitForWhatWaits(url);
  const std::string server = "--server=" + url;

  const Said pod = Coppice({"explain", "pod", pod_, server});
  EXPECT_EQ(pod.code, 0) << pod.text;
  EXPECT_THAT(pod.text, HasSubstr("pod " + pod_ + " (pass of 20"));
  const std::string group = state_["rows"].begin().key();
  EXPECT_THAT(Coppice({"explain", "group", group, server}).text,
              AllOf(HasSubstr("group " + group), HasSubstr("wanted")));
  std::string node;
  for (const auto& [name, seen] : state_["nodes"].items())
    if (seen.contains("reason")) node = name;
  ASSERT_FALSE(node.empty()) << state_.dump(1);
  EXPECT_THAT(Coppice({"explain", "node", node, server}).text,
              AllOf(HasSubstr("node " + node + " of "), HasSubstr("cpu ")));
  EXPECT_THAT(Coppice({"explain", "last", server}).text, HasSubstr("Z  "));
  EXPECT_EQ(AskedJson::parse(Coppice({"explain", "node", node, server, "-o", "json"}).text)["node"],
            node);
  EXPECT_THAT(Coppice({"top", "--once", server}).text,
              AllOf(HasSubstr("coppice at " + url), HasSubstr(group), HasSubstr("last decisions")));

  const Said nobody = Coppice({"explain", "node", "nobody", server});
  EXPECT_EQ(nobody.code, 1);
  EXPECT_THAT(nobody.text, HasSubstr("there is no node nobody"));
  EXPECT_EQ(Coppice({"explain", "planet", "mars", server}).code, 2);
  EXPECT_EQ(Coppice({"explain", "last", "--server=http://127.0.0.1:1"}).code, 1);
}

TEST_F(AskE2eTest, QueuesAndGangsOfAModelAreShownAndExplained) {
  const auto model = Model({"--batch"});
  const std::string url = UrlOf(*model);
  std::string gang;
  // Not every gang can be helped: there are fewer cores than the load wants.
  ASSERT_TRUE(Until([&] {
    state_ = Get(url + "/api/v1/state");
    for (const auto& [name, queue] : state_["queues"].items())
      for (const auto& waiting : queue["gangs"]) gang = waiting["gang"];
    return !gang.empty();
  })) << model->output();
  EXPECT_EQ(MUST(Send(url + "/api/v1/control", R"({"paused":true})")).status, 200);
  for (const char* queue : {"gold", "silver", "bronze"})
    EXPECT_TRUE(state_["queues"].contains(queue)) << state_["queues"].dump();
  EXPECT_THAT(gang, testing::StartsWith("research/"));
  const Said why = Coppice({"explain", "gang", gang, "--server=" + url});
  EXPECT_EQ(why.code, 0) << why.text;
  EXPECT_THAT(why.text, HasSubstr(gang));
  const Said top = Coppice({"top", "--once", "--server=" + url});
  EXPECT_THAT(top.text, AllOf(HasSubstr("gold"), HasSubstr("bronze")));
  const AskedJson engines = Get(url + "/api/v1/health")["engines"];
  ASSERT_EQ(engines.size(), 1u) << engines.dump();
  EXPECT_EQ(engines[0]["engine"], "batch");
}

TEST_F(AskE2eTest, AsAPlugInOfKubectlItForwardsAPortAndEndsThat) {
  const auto model = Model();
  const std::string url = UrlOf(*model);
  WaitForWhatWaits(url);
  const auto path = FakeKubectl("echo $$ >>" + dir_.At("pids") + "; port=" + PortOf(url));
  const std::string plugin = dir_.At("kubectl-coppice");
  std::filesystem::create_symlink(COPPICE_BINARY, plugin);

  const Said explained = Run({plugin, "explain", "pod", pod_, "-n", "kube-system"}, path);
  EXPECT_EQ(explained.code, 0) << explained.text;
  EXPECT_THAT(explained.text, HasSubstr("pod " + pod_));
  EXPECT_THAT(Asked(), HasSubstr("--namespace=kube-system port-forward deployment/coppice :8086"));
  EXPECT_THAT(Run({plugin, "last"}, path).text, HasSubstr("Z  "));
  const Said top = Run({plugin, "top", "--once", "--context=c", "--target=svc/x"}, path);
  EXPECT_EQ(top.code, 0) << top.text;
  EXPECT_THAT(top.text, HasSubstr("last decisions"));
  EXPECT_THAT(Asked(), HasSubstr("--context=c port-forward svc/x :8086"));
  // Under its own name a flag that names a cluster is enough.
  EXPECT_EQ(Coppice({"explain", "last", "-n", "other"}, path).code, 0);

  std::ifstream pids(dir_.At("pids"));
  int count = 0;
  for (int pid = 0; pids >> pid; ++count) EXPECT_NE(kill(pid, 0), 0) << "a kubectl is left behind";
  EXPECT_EQ(count, 4);
}

TEST_F(AskE2eTest, AKubectlThatFailsIsSaidToHave) {
  std::filesystem::permissions(dir_.Write("kubectl", "#!/bin/sh\necho no such deployment >&2\n"),
                               std::filesystem::perms::owner_all);
  const Said said = Coppice({"explain", "last", "-n", "x"}, {{"PATH", dir_.path().string()}});
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.text,
              AllOf(HasSubstr("no such deployment"), HasSubstr("port-forward has ended")));
  std::filesystem::remove(dir_.At("kubectl"));
  EXPECT_THAT(Coppice({"explain", "last", "-n", "x"}, {{"PATH", dir_.path().string()}}).text,
              HasSubstr("kubectl cannot be started"));
}

TEST_F(AskE2eTest, OverTlsOnlyWhoHasACertificateOrTheTokenIsAnswered) {
  const TestAuthority authority;
  const TestAuthority foreign("foreign authority");
  dir_.Write("ca.crt", authority.pem());
  const auto issue = [&](const TestAuthority& by, const std::string& name) {
    const PemPair pair = by.Issue(name, {"localhost", "127.0.0.1"});
    dir_.Write(name + ".crt", pair.cert);
    dir_.Write(name + ".key", pair.key);
  };
  issue(authority, "server");
  issue(authority, "ours");
  issue(foreign, "theirs");
  dir_.Write("token", "a-token-of-sixteen-and-more\n");
  dir_.Write("wrong", "another-token-of-sixteen\n");
  const std::vector<std::string> tls = {"--web-tls-cert-file=" + dir_.At("server.crt"),
                                        "--web-tls-private-key-file=" + dir_.At("server.key")};
  const auto ask = [&](const std::string& url, std::vector<std::string> more) {
    std::vector<std::string> words = {"explain", "last", "--server=" + url,
                                      "--certificate-authority=" + dir_.At("ca.crt")};
    words.insert(words.end(), more.begin(), more.end());
    return Coppice(words);
  };
  const auto with = [&](const std::string& name) -> std::vector<std::string> {
    return {"--client-certificate=" + dir_.At(name + ".crt"),
            "--client-key=" + dir_.At(name + ".key")};
  };
  {
    std::vector<std::string> mutual = tls;
    mutual.push_back("--web-client-ca-file=" + dir_.At("ca.crt"));
    const auto model = Model(mutual);
    const std::string url = UrlOf(*model);
    ASSERT_THAT(url, testing::StartsWith("https://"));
    const Said ours = ask(url, with("ours"));
    EXPECT_EQ(ours.code, 0) << ours.text;
    EXPECT_EQ(ask(url, {}).code, 1) << "no certificate at all";
    EXPECT_EQ(ask(url, with("theirs")).code, 1) << "of somebody else's authority";
    EXPECT_EQ(Coppice({"explain", "last", "--server=http" + url.substr(5)}).code, 1) << "no TLS";
    EXPECT_FALSE(Send(url + "/", "", {.ca_file = dir_.At("ca.crt")}).ok()) << "not the page either";
  }
  {
    std::vector<std::string> token = tls;
    token.push_back("--web-token-file=" + dir_.At("token"));
    const auto model = Model(token);
    const std::string url = UrlOf(*model);
    const Said right = ask(url, {"--token-file=" + dir_.At("token")});
    EXPECT_EQ(right.code, 0) << right.text;
    for (const auto& more :
         std::vector<std::vector<std::string>>{{}, {"--token-file=" + dir_.At("wrong")}}) {
      const Said no = ask(url, more);
      EXPECT_EQ(no.code, 1) << no.text;
      EXPECT_THAT(no.text, HasSubstr("token"));
    }
    EXPECT_THAT(ask(url, {"--token-file=" + dir_.At("missing")}).text, HasSubstr("cannot be read"));
    const net::HttpClientOptions trusts{.ca_file = dir_.At("ca.crt")};
    EXPECT_EQ(MUST(Send(url + "/api/v1/state", "", trusts)).status, 401);
    EXPECT_EQ(MUST(Send(url + "/", "", trusts)).status, 200) << "the page that asks for the token";
    const auto session =
        MUST(Send(url + "/api/v1/session", R"({"token":"a-token-of-sixteen-and-more"})", trusts));
    EXPECT_EQ(session.status, 200);
  }
}

// Two replicas of a batch scheduler, which need no cloud.
class StandbyE2eTest : public AskE2eTest {
 protected:
  StandbyE2eTest() {
    KnowAllKinds(api_);
    for (const auto& [path, kind] : std::map<std::string, std::string>{
             {"/apis/scheduling.volcano.sh/v1beta1/podgroups", "PodGroup"},
             {"/apis/scheduling.volcano.sh/v1beta1/queues", "Queue"},
             {"/apis/scheduling.k8s.io/v1/priorityclasses", "PriorityClass"},
             {"/api/v1/resourcequotas", "ResourceQuota"}}) {
      api_.Put(path, kind, "default", AskedJson::object(), kind == "Queue" ? "" : "x");
      if (kind != "Queue") api_.Delete(path, "default", "x");
    }
    api_.Put("/api/v1/nodes", "Node", "n1",
             {{"status", {{"allocatable", {{"cpu", "4"}, {"memory", "8Gi"}, {"pods", "10"}}}}}});
    dir_.Write("kubeconfig",
               "current-context: c\ncontexts: [{name: c, context: {cluster: c}}]\n"
               "clusters: [{name: c, cluster: {server: '" +
                   api_.url() + "'}}]\n");
  }
  std::unique_ptr<Child> Replica(const std::string& identity) {
    return std::make_unique<Child>(
        std::vector<std::string>{COPPICE_BINARY, "run", "--batch",
                                 "--kubeconfig=" + dir_.At("kubeconfig"), "--address=127.0.0.1:0",
                                 "--web-address=127.0.0.1:0", "--logtostderr=true", "--v=4"},
        std::map<std::string, std::string>{{"COPPICE_LEASE_IDENTITY", identity}});
  }
  FakeApiServer api_;
};

TEST_F(StandbyE2eTest, WhoReachesAReplicaThatStandsByIsLedToTheLeader) {
  const auto leading = Replica("coppice-0");
  const std::string leader = UrlOf(*leading);
  ASSERT_TRUE(Until([&] { return Get(leader + "/api/v1/state")["nodes"].contains("n1"); }))
      << leading->output();
  const auto waiting = Replica("coppice-1");
  const std::string standby = UrlOf(*waiting);
  ASSERT_TRUE(Until([&] { return Get(standby + "/api/v1/control")["leader"] == "coppice-0"; }))
      << waiting->output();
  EXPECT_EQ(Get(standby + "/api/v1/control")["leads"], false);
  EXPECT_EQ(Get(leader + "/api/v1/control")["leads"], true);
  // A page that comes from one to the other is to notice.
  const auto seq = [&](const std::string& url) {
    return Get(url + "/api/v1/state")["seq"].get<int64_t>();
  };
  EXPECT_GT(std::abs(seq(leader) - seq(standby)), 10'000);
  for (const char* page : {"explain?node=n1", "explain?pod=a/b", "decisions", "pass"}) {
    const auto answer = MUST(Send(standby + "/api/v1/" + page));
    EXPECT_EQ(answer.status, 503) << page;
    EXPECT_THAT(answer.body, HasSubstr("coppice-0 leads")) << page;
  }
  const auto asked = MUST(Send(standby + "/api/v1/whatif", R"({"removeNodes":["n1"]})"));
  EXPECT_EQ(asked.status, 202);
  EXPECT_TRUE(Until([&] {
    const AskedJson answer = Get(standby + "/api/v1/whatif?id=1");
    return answer["state"] == "failed" && answer.dump().find("coppice-0") != std::string::npos;
  }));

  // kubectl picks the one that stands by; the second time it is told whom to pick.
  const auto path = FakeKubectl("case \"$*\" in *pod/coppice-0*) port=" + PortOf(leader) +
                                ";; *) port=" + PortOf(standby) + ";; esac");
  const Said said = Coppice({"explain", "node", "n1", "-n", "x"}, path);
  EXPECT_EQ(said.code, 0) << said.text;
  EXPECT_THAT(said.text, HasSubstr("node n1"));
  EXPECT_THAT(Asked(), AllOf(HasSubstr("deployment/coppice"), HasSubstr("pod/coppice-0 :8086")));
  EXPECT_EQ(Coppice({"top", "--once", "-n", "x"}, path).code, 0);
  // A server that was named is not left for another.
  const Said named = Coppice({"explain", "node", "n1", "--server=" + standby});
  EXPECT_EQ(named.code, 1);
  EXPECT_THAT(named.text, AllOf(HasSubstr("stands by"), HasSubstr("coppice-0")));

  // When the leader goes, the other one is asked nothing that it cannot answer.
  leading->Signal(SIGTERM);
  EXPECT_EQ(leading->Wait(), 0);
  EXPECT_TRUE(Until([&] { return Get(standby + "/api/v1/control")["leads"] == true; }));
  EXPECT_TRUE(Until([&] {
    return Coppice({"explain", "node", "n1", "--server=" + standby}).code == 0;
  })) << waiting->output();
}

TEST_F(StandbyE2eTest, AnswersOnARealClusterAreWhatTheFileSays) {
  const ApiSchema schema(ReadWhole(COPPICE_SOURCE "/src/web/assets/openapi.yaml"));
  const auto alone = Replica("coppice-0");
  const std::string url = UrlOf(*alone) + "/api/v1/";
  ASSERT_TRUE(Until([&] {
    return Get(url + "state").contains("queues") && !Get(url + "health")["engines"].empty();
  })) << alone->output();
  for (const auto& [page, name] : std::map<std::string, std::string>{{"state", "State"},
                                                                     {"health", "Health"},
                                                                     {"control", "Control"},
                                                                     {"decisions", "Decisions"},
                                                                     {"timeline", "Timeline"},
                                                                     {"explain?node=n1", "Why"}}) {
    const AskedJson answer = Get(url + page);
    EXPECT_EQ(schema.Complaint(answer, name), "") << page << answer.dump(1);
  }
  const AskedJson health = Get(url + "health");
  EXPECT_EQ(health["maxViewAgeSeconds"], 180.0);
  const AskedJson& stages = health["engines"][0]["passes"][0]["stages"];
  EXPECT_TRUE(stages.contains("open") && stages.contains("allocate")) << health.dump(1);
}

}  // namespace
}  // namespace coppice::test
