#include "kube/kubeconfig.h"

#include <gmock/gmock.h>

#include <map>

#include "base/fake_clock.h"
#include "kube/credentials.h"
#include "test/support/must.h"

namespace coppice::kube {
namespace {

using test::MustValue;
using testing::HasSubstr;

std::string Config(const std::string& cluster, const std::string& user) {
  return "apiVersion: v1\nkind: Config\ncurrent-context: main\n"
         "contexts:\n- name: main\n  context: {cluster: c, user: u, namespace: mine}\n"
         "- name: other\n  context: {cluster: c2, user: u}\n"
         "clusters:\n- name: c\n  cluster: {server: 'https://api:6443/'" +
         cluster +
         "}\n- name: c2\n  cluster: {server: 'https://other'}\n"
         "users:\n- name: u\n  user: {" +
         user + "}\n";
}

Result<ConnectionConfig> Parse(const std::string& text, KubeconfigOptions options = {}) {
  return ParseKubeconfig(text, "config", "/etc/kube", options);
}

TEST(KubeconfigTest, TakesTheCurrentContextAndInlineData) {
  const auto config = MustValue(
      Parse(Config(", certificate-authority-data: Q0E=, tls-server-name: kube",
                   "client-certificate-data: Q0VSVA==, client-key-data: S0VZ, token: t")));
  EXPECT_EQ(config.server, "https://api:6443");
  EXPECT_EQ(config.ca_pem, "CA");
  EXPECT_EQ(config.cert_pem, "CERT");
  EXPECT_EQ(config.key_pem.Reveal(), "KEY");
  EXPECT_EQ(config.token.Reveal(), "t");
  EXPECT_EQ(config.tls_server_name, "kube");
  EXPECT_EQ(config.namespace_, "mine");
}

TEST(KubeconfigTest, AnotherContextMayBeChosen) {
  EXPECT_EQ(MustValue(Parse(Config("", "token: t"), {.context = "other"})).server, "https://other");
  EXPECT_THAT(Parse(Config("", ""), {.context = "none"}).status().message(),
              HasSubstr("no entry named \"none\""));
}

TEST(KubeconfigTest, FilesCountFromTheFoldersPlace) {
  const auto config = MustValue(
      Parse(Config(", certificate-authority: ca.pem",
                   "client-certificate: ../me.crt, client-key: /abs/me.key, tokenFile: token")));
  EXPECT_EQ(config.ca_file, "/etc/kube/ca.pem");
  EXPECT_EQ(config.cert_file, "/etc/me.crt");
  EXPECT_EQ(config.key_file, "/abs/me.key");
  EXPECT_EQ(config.token_file, "/etc/kube/token");
}

TEST(KubeconfigTest, InsecureIsRefusedUnlessAskedFor) {
  const std::string text = Config(", insecure-skip-tls-verify: true", "token: t");
  EXPECT_EQ(Parse(text).code(), Code::kFailedPrecondition);
  EXPECT_TRUE(MustValue(Parse(text, {.allow_insecure = true})).insecure);
}

TEST(KubeconfigTest, ReadsProxyImpersonationAndExec) {
  const auto config = MustValue(Parse(Config(
      ", proxy-url: 'socks5://p:1080'",
      "as: bob, as-groups: [a, b], as-user-extra: {k: [v]}, exec: {command: ./get, args: [x], "
      "apiVersion: client.authentication.k8s.io/v1, env: [{name: A, value: B}]}")));
  EXPECT_EQ(config.proxy_url, "socks5h://p:1080");
  ASSERT_TRUE(config.impersonate);
  EXPECT_EQ(config.impersonate->groups, (std::vector<std::string>{"a", "b"}));
  ASSERT_TRUE(config.exec);
  EXPECT_EQ(config.exec->command, "/etc/kube/get");
  EXPECT_EQ(config.exec->env[0].second, "B");
}

TEST(KubeconfigTest, SaysWhatIsWrong) {
  const std::map<std::string, std::string> cases = {
      {"client-certificate-data: Q0E=", "needs its key"},
      {"token: t, client-key-data: '%'", "not base64"},
      {"auth-provider: {name: gcp}", "use exec instead"},
      {"exec: {command: x, apiVersion: v1}", "apiVersion has to be"},
      {"as-groups: [a]", "need as"},
  };
  for (const auto& [user, why] : cases)
    EXPECT_THAT(Parse(Config("", user)).status().message(), HasSubstr(why)) << user;
}

TEST(KubeconfigTest, AServiceAccountIsReadFromItsFolder) {
  const std::map<std::string, std::string> env = {{"KUBERNETES_SERVICE_HOST", "fd00::1"},
                                                  {"KUBERNETES_SERVICE_PORT", "443"}};
  const auto get = [&](const char* name) {
    const auto it = env.find(name);
    return it == env.end() ? nullptr : it->second.c_str();
  };
  const auto read = [](const std::string& path) -> Result<std::string> {
    if (path == "/sa/token") return std::string("tok\n");
    if (path == "/sa/namespace") return std::string("ns\n");
    return NotFound(path);
  };
  const auto config = MustValue(InClusterConfig(get, "/sa", read));
  EXPECT_EQ(config.server, "https://[fd00::1]:443");
  EXPECT_EQ(config.token_file, "/sa/token");
  EXPECT_EQ(config.namespace_, "ns");
  EXPECT_EQ(InClusterConfig([](const char*) { return nullptr; }).code(), Code::kFailedPrecondition);
}

TEST(CredentialsTest, ARotatedTokenFileIsNoticedAndARefusalReadsItAtOnce) {
  FakeClock clock;
  Executor executor(clock);
  InlineWorkers workers;
  std::string token = "one\n";
  ConnectionConfig config;
  config.token_file = "/token";
  Credentials credentials(
      {.config = config,
       .executor = executor,
       .workers = workers,
       .read_file = [&](const std::string&) -> Result<std::string> { return token; }});
  const auto now = [&] {
    return MustValue(executor.BlockOn(credentials.Get())).bearer_token.Reveal();
  };
  EXPECT_EQ(now(), "one");
  token = "two\n";
  EXPECT_EQ(now(), "one");
  credentials.Refused();
  EXPECT_EQ(now(), "two");
  token = "three\n";
  clock.Set(clock.Now() + std::chrono::minutes(2));
  EXPECT_EQ(now(), "three");
}

// SIGHUP.
TEST(CredentialsTest, NewOnesReplaceTheOldOnlyIfAllOfTheirFilesCanBeRead) {
  FakeClock clock;
  Executor executor(clock);
  InlineWorkers workers;
  std::map<std::string, std::string> files = {{"/token", "one"}, {"/ca", "authority"}};
  ConnectionConfig config;
  config.token_file = "/token";
  config.ca_file = "/ca";
  Credentials credentials({.config = config,
                           .executor = executor,
                           .workers = workers,
                           .read_file = [&](const std::string& path) -> Result<std::string> {
                             if (!files.contains(path)) return NotFound(path);
                             return files[path];
                           }});
  const auto now = [&] { return MustValue(executor.BlockOn(credentials.Get())); };
  EXPECT_EQ(now().bearer_token.Reveal(), "one");
  files["/ca"] = "another authority";
  ConnectionConfig broken = config;
  broken.token_file = "/absent";
  EXPECT_EQ(credentials.Replace(broken).code(), Code::kNotFound);
  EXPECT_EQ(now().bearer_token.Reveal(), "one");
  EXPECT_EQ(now().tls->ca_pem, "authority") << "all of the old, and nothing of the new";
  files["/two"] = "two";
  ConnectionConfig good = config;
  good.token_file = "/two";
  good.impersonate = Impersonation{.user = "somebody"};
  EXPECT_TRUE(credentials.Replace(good).ok());
  EXPECT_EQ(now().bearer_token.Reveal(), "two");
  EXPECT_EQ(now().tls->ca_pem, "another authority");
  EXPECT_EQ(now().headers.size(), 1u);
}

TEST(CredentialsTest, APluginThatWasReplacedWhileItRanIsNotBelieved) {
  FakeClock clock{TimePoint()};
  Executor executor(clock);
  InlineWorkers workers;
  ConnectionConfig config;
  config.exec = ExecPlugin{.command = "x", .api_version = "client.authentication.k8s.io/v1"};
  Credentials* running = nullptr;
  Credentials credentials(
      {.config = config,
       .executor = executor,
       .workers = workers,
       .run_plugin = [&](const ExecPlugin&, const ConnectionConfig&) -> Result<std::string> {
         ConnectionConfig other;
         other.token = Secret("other");
         EXPECT_TRUE(running->Replace(other).ok());
         return std::string("never read");
       }});
  running = &credentials;
  EXPECT_EQ(MustValue(executor.BlockOn(credentials.Get())).bearer_token.Reveal(), "other");
}

TEST(CredentialsTest, AnExecPluginIsRunAgainWhenItsCredentialExpires) {
  FakeClock clock{TimePoint()};
  Executor executor(clock);
  InlineWorkers workers;
  int runs = 0;
  ConnectionConfig config;
  config.exec = ExecPlugin{.command = "x", .api_version = "client.authentication.k8s.io/v1"};
  Credentials credentials(
      {.config = config,
       .executor = executor,
       .workers = workers,
       .run_plugin = [&](const ExecPlugin&, const ConnectionConfig&) -> Result<std::string> {
         ++runs;
         return std::string(R"({"apiVersion":"client.authentication.k8s.io/v1",)"
                            R"("kind":"ExecCredential","status":{"token":"t)") +
                std::to_string(runs) + R"(","expirationTimestamp":"1970-01-01T00:01:00Z"}})";
       }});
  const auto token = [&] {
    return MustValue(executor.BlockOn(credentials.Get())).bearer_token.Reveal();
  };
  EXPECT_EQ(token(), "t1");
  EXPECT_EQ(token(), "t1");
  credentials.Refused();
  EXPECT_EQ(token(), "t2");
  clock.Advance(std::chrono::seconds(55));  // five before its end
  EXPECT_EQ(token(), "t3");
}

TEST(ExecPluginTest, RunsAProgramAndReadsWhatItPrints) {
  const ExecPlugin plugin{.command = "sh",
                          .args = {"-c", "printf '%s %s' \"$A\" \"$KUBERNETES_EXEC_INFO\""},
                          .env = {{"A", "b"}},
                          .api_version = "client.authentication.k8s.io/v1"};
  EXPECT_THAT(MustValue(RunExecPlugin(plugin, {})), HasSubstr("b {\"apiVersion\":"));
  EXPECT_EQ(RunExecPlugin({.command = "/no/such/program"}, {}).code(), Code::kFailedPrecondition);
  EXPECT_EQ(RunExecPlugin({.command = "false"}, {}).code(), Code::kUnavailable);
}

}  // namespace
}  // namespace coppice::kube
