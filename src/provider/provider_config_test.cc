#include "provider/provider_config.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "test/support/must.h"

namespace coppice::provider {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr char kGroup[] = R"(nodeGroups:
  - name: workers
    minSize: 1
    maxSize: 5
    flavor: flex-8-2
    image: debian-12
    zone: rma1
    volumeSizeGB: 50
)";

// Clouds whose groups need more than a name and a flavor: as cloudscale's do, and one of somebody
// else's. Nobody makes them here.
cloud::CloudRegistry CloudsWithRequirements() {
  const auto make = [](const cloud::CloudContext&) -> Result<std::unique_ptr<cloud::Cloud>> {
    return Unimplemented("reading a file opens no cloud");
  };
  cloud::CloudRegistry clouds("cloud");
  clouds.Add("cloudscale", {make, {"image", "zone", "volumeSizeGB"}});
  clouds.Add("acme", {make, {"zone", "sshKeys", "extra.project"}});
  clouds.Add("simulated", make);
  return clouds;
}

class ProviderConfigTest : public testing::Test {
 protected:
  Result<ProviderConfig> Parse(const std::string& text) {
    const auto getenv = [this](const char* name) {
      const auto it = env_.find(name);
      return it == env_.end() ? nullptr : it->second.c_str();
    };
    const auto read = [this](const std::string& path) -> Result<std::string> {
      const auto it = files_.find(path);
      if (it == files_.end()) return NotFound(path + " cannot be read: No such file or directory");
      return it->second;
    };
    problems_ = {};
    return ParseProviderConfig(text, "/etc/coppice/config.yaml", {clouds_, getenv}, read,
                               problems_);
  }
  std::vector<std::string> Complaints() {
    std::vector<std::string> all;
    for (const auto& problem : problems_.all()) all.push_back(problem.ToString());
    return all;
  }

  const cloud::CloudRegistry clouds_ = CloudsWithRequirements();
  std::map<std::string, std::string> env_;
  std::map<std::string, std::string> files_;
  yaml::Problems problems_;
};

// A file of the Go provider, every key of it.
TEST_F(ProviderConfigTest, AFileOfTheGoProviderWorksUnchanged) {
  env_ = {{"CLUSTER", "prod"}, {"CERTS", "/certs"}};
  files_ = {{"/etc/coppice/machineconfig.yaml", "bytes\r\n$HOME"}};
  const auto config = MUST(Parse(R"(
listen: ":9000"
tls:
  certFile: ${CERTS}/tls.crt
  keyFile: $CERTS/tls.key
  caFile: /certs/ca.crt
clusterTag: ${CLUSTER}
nodeGroups:
  - name: workers
    minSize: 0
    maxSize: 10
    flavor: flex-8-2
    image: "custom:talos-v1.13.0"
    zone: rma1
    volumeSizeGB: 100
    sshKeys: ["ssh-ed25519 AAAA me"]
    userData: "@machineconfig.yaml"
    tags: {team: a, number: 5}
    serverGroupUUID: 11111111-1111-4111-8111-111111111111
    usePublicNetwork: no
    usePrivateNetwork: true
    networkUUID: net
    subnetUUID: sub
    labels:
      node.kubernetes.io/role: worker
    taints:
      - {key: dedicated, value: batch, effect: NoSchedule}
)"));
  EXPECT_EQ(config.listen, ":9000");
  EXPECT_EQ(config.cluster_tag, "prod");
  EXPECT_EQ(config.cloud_kind, "cloudscale");
  EXPECT_EQ(config.tls, (ProviderTls{.cert_file = "/certs/tls.crt",
                                     .key_file = "/certs/tls.key",
                                     .ca_file = "/certs/ca.crt"}));
  EXPECT_THAT(config.files,
              ElementsAre("/etc/coppice/config.yaml", "/etc/coppice/machineconfig.yaml"));
  ASSERT_EQ(config.groups.size(), 1u);
  const cloud::GroupConfig expected{
      .name = "workers",
      .min_size = 0,
      .max_size = 10,
      .flavor = "flex-8-2",
      .image = "custom:talos-v1.13.0",
      .zone = "rma1",
      .volume_size_gb = 100,
      .ssh_keys = {"ssh-ed25519 AAAA me"},
      .user_data = "bytes\r\n$HOME",
      .tags = {{"team", "a"}, {"number", "5"}, {"k8s-cluster", "prod"}},
      .labels = {{"node.kubernetes.io/role", "worker"}},
      .taints = {{"dedicated", "batch", "NoSchedule"}},
      .server_group_uuids = {"11111111-1111-4111-8111-111111111111"},
      .use_private_network = true,
      .network_uuid = "net",
      .subnet_uuid = "sub"};
  EXPECT_EQ(config.groups[0], expected);
  EXPECT_THAT(Complaints(), ElementsAre(HasSubstr("write false instead of no")));
}

TEST_F(ProviderConfigTest, DefaultsAreTheGoProviders) {
  const auto config = MUST(Parse(kGroup));
  EXPECT_EQ(config.listen, ":8086");
  EXPECT_FALSE(config.tls);
  EXPECT_FALSE(config.metrics_listen);
  EXPECT_FALSE(config.answer_increase_after);
  EXPECT_FALSE(config.groups[0].use_public_network);
  EXPECT_THAT(config.groups[0].tags, IsEmpty());
  EXPECT_THAT(Complaints(), ElementsAre(HasSubstr("warning: clusterTag: is not set")));
}

TEST_F(ProviderConfigTest, AnAnswerBeforeTheQuestionIsRefused) {
  EXPECT_FALSE(Parse(std::string("answerIncreaseAfter: -1s\n") + kGroup).ok());
  EXPECT_EQ(MUST(Parse(std::string("answerIncreaseAfter: 0s\n") + kGroup)).answer_increase_after,
            Duration::zero());
}

TEST_F(ProviderConfigTest, OurKeysAreRead) {
  const auto config = MUST(Parse(
      std::string("clusterTag: a\nmetricsListen: \":9191\"\ncloud: {kind: simulated, seed: 3}\n"
                  "answerIncreaseAfter: 250ms\n"
                  "tls: {certFile: a, keyFile: b, caFile: c, allowedClientNames: [ca]}\n") +
      kGroup + R"(    maxPods: 60
    kubeReserved: {cpu: 100m, memory: 5%}
    systemReserved: {memory: 200Mi}
    evictionHard: {memory.available: 100Mi, nodefs.available: 10%}
    serverGroupUUIDs: [one, two]
    serverGroupUUID: three
    price: 0.25
    extra: {a: b}
    options:
      scaleDownUtilizationThreshold: 0.7
      scaleDownUnneededTime: 5m
      zeroOrMaxNodeScaling: true
)"));
  EXPECT_EQ(config.cloud_kind, "simulated");
  EXPECT_EQ(config.metrics_listen, ":9191");
  EXPECT_EQ(config.answer_increase_after, std::chrono::milliseconds(250));
  EXPECT_THAT(config.tls->allowed_client_names, ElementsAre("ca"));
  const auto& group = config.groups[0];
  EXPECT_EQ(group.max_pods, 60);
  EXPECT_EQ(group.kube_reserved, (cloud::ReservedResources{{"cpu", "100m"}, {"memory", "5%"}}));
  EXPECT_EQ(group.system_reserved->at("memory"), "200Mi");
  EXPECT_EQ(group.eviction_hard->at("memory.available"), "100Mi");
  EXPECT_THAT(group.server_group_uuids, ElementsAre("three", "one", "two"));
  EXPECT_EQ(group.price_per_hour, 0.25);
  EXPECT_EQ(group.options.scale_down_utilization_threshold, 0.7);
  EXPECT_EQ(group.options.scale_down_unneeded_time, std::chrono::minutes(5));
  EXPECT_EQ(group.options.zero_or_max_node_scaling, true);
  EXPECT_FALSE(group.options.max_node_startup_time);
  EXPECT_EQ(group.extra.at("a"), "b");
  EXPECT_THAT(Complaints(), IsEmpty());
}

TEST_F(ProviderConfigTest, EachMistakeIsNamedWithItsPlace) {
  const std::string start = "clusterTag: prod\nnodeGroups:\n- ";
  const std::string rest = ", flavor: f, image: i, zone: z, volumeSizeGB: 10";
  const std::vector<std::pair<std::string, std::string>> rows = {
      {"clusterTag: prod\n",
       "config.yaml:1:1: error: nodeGroups: at least one node group is required"},
      {"clusterTag: prod\nnodeGroups: []\n", "config.yaml:2:13: error: nodeGroups: at least one"},
      {start + "{flavor: f, image: i, zone: z, volumeSizeGB: 10}",
       "config.yaml:3:3: error: nodeGroups[0].name: is required"},
      {start + "{name: a, image: i, zone: z, volumeSizeGB: 10}",
       "nodeGroups[0].flavor: is required"},
      {start + "{name: a, flavor: f, zone: z, volumeSizeGB: 10}",
       "nodeGroups[0].image: is required"},
      {start + "{name: a, flavor: f, image: i, volumeSizeGB: 10}",
       "nodeGroups[0].zone: is required"},
      {start + "{name: a, flavor: f, image: i, zone: z}",
       "nodeGroups[0].volumeSizeGB: is required"},
      {start + "{name: a, flavor: f, image: i, zone: z, volumeSizeGB: 0}",
       "volumeSizeGB: must be more than 0"},
      {start + "{name: a, minSize: -1" + rest + "}",
       "config.yaml:3:22: error: nodeGroups[0].minSize: must not be negative"},
      {start + "{name: a, minSize: 3, maxSize: 2" + rest + "}",
       "nodeGroups[0].maxSize: is 2, less than minSize 3"},
      {start + "{name: a" + rest + "}\n- {name: a" + rest + "}",
       "nodeGroups[1].name: 'a' is the name of the group in line 3 already"},
      {start + "{name: a, tags: {k8s-cluster: other}" + rest + "}",
       "k8s-cluster is 'other' here and clusterTag is 'prod'"},
      {start + "{name: a, networkUUID: n" + rest + "}",
       "networkUUID: needs usePrivateNetwork: true"},
      {start + "{name: a, usePrivateNetwork: true, subnetUUID: n" + rest + "}",
       "subnetUUID: needs networkUUID"},
      {start + "{name: a, userData: \"@gone\"" + rest + "}",
       "userData: /etc/coppice/gone cannot be read"},
      {start + "{name: a, maxSize: 010" + rest + "}",
       "maxSize: must be a whole number without leading zeros"},
      {start + "{name: a, maxPods: 0" + rest + "}", "maxPods: must be more than 0"},
      {start + "{name: a, kubeReserved: {cpu: lots}" + rest + "}",
       "kubeReserved: cpu: 'lots' is neither an amount"},
      {start + "{name: a, options: {scaleDownUtilizationThreshold: 50}" + rest + "}",
       "must be between 0 and 1"},
      {start + "{name: a" + rest + "}\ntls: {certFile: a, keyFile: b}", "tls.caFile: is required"},
      {start + "{name: a" + rest + "}\ntls: [a]", "tls: must be a map"}};
  for (const auto& [text, complaint] : rows) {
    const auto result = Parse(text);
    EXPECT_EQ(result.code(), Code::kInvalidArgument) << text;
    EXPECT_THAT(Complaints(), Contains(HasSubstr(complaint))) << text;
    EXPECT_THAT(result.status().message(), HasSubstr(complaint));
  }
}

TEST_F(ProviderConfigTest, AllMistakesAreNamedAtOnce) {
  EXPECT_FALSE(Parse("clusterTag: a\nnodeGroups:\n- {}\n- {}\n").ok());
  EXPECT_EQ(problems_.all().size(), 10u + 2u) << "five required keys each, and a maxSize of 0 each";
}

TEST_F(ProviderConfigTest, UnknownKeysAreWarnedAboutWithTheNearest) {
  ASSERT_OK(Parse(std::string("clusterTag: a\nmetricListen: x\n") + kGroup + "    maxSizes: 3\n"));
  EXPECT_THAT(Complaints(),
              ElementsAre(HasSubstr("config.yaml:11:5: warning: nodeGroups[0].maxSizes: unknown "
                                    "key; did you mean 'maxSize'?"),
                          HasSubstr("config.yaml:2:1: warning: metricListen: unknown key; did you "
                                    "mean 'metricsListen'?")));
}

TEST_F(ProviderConfigTest, OddButHarmlessThingsAreWarnings) {
  ASSERT_OK(Parse(std::string("clusterTag: ${NOT_SET}a\n") + kGroup +
                  "    sshKeys: [name-of-key]\n    taints: [{key: a, effect: Maybe}]\n"
                  "    tags: {k8s-autoscaler-group: other}\n"));
  EXPECT_THAT(Complaints(),
              ElementsAre(HasSubstr("no variable 'NOT_SET'"),
                          HasSubstr("'name-of-key' is not a public key"),
                          HasSubstr("k8s-autoscaler-group is set to the group's name"),
                          HasSubstr("'Maybe' is not an effect of a taint")));
}

TEST_F(ProviderConfigTest, OnlyTheGoProvidersKeysAreExpanded) {
  env_ = {{"X", "value"}};
  const auto config = MUST(Parse(std::string("clusterTag: $X\n") + kGroup +
                                 "    userData: \"echo $X\"\n    tags: {a: $X}\n"));
  EXPECT_EQ(config.cluster_tag, "value");
  EXPECT_EQ(config.groups[0].user_data, "echo $X");
  EXPECT_EQ(config.groups[0].tags.at("a"), "$X");
}

TEST_F(ProviderConfigTest, UserDataMayBeALoneAtSignOrAnAbsolutePath) {
  files_ = {{"/abs/file", "content"}};
  EXPECT_EQ(MUST(Parse(std::string(kGroup) + "    userData: \"@\"\n")).groups[0].user_data, "@");
  EXPECT_EQ(MUST(Parse(std::string(kGroup) + "    userData: \"@/abs/file\"\n")).groups[0].user_data,
            "content");
}

TEST_F(ProviderConfigTest, ASimulatedMachineNeedsNoImageZoneOrVolume) {
  EXPECT_OK(
      Parse("clusterTag: a\ncloud: {kind: simulated}\nnodeGroups: [{name: a, maxSize: 2, flavor: "
            "sim-4-2}]\n"));
}

TEST_F(ProviderConfigTest, ACloudOutOfTreeSaysItselfWhatItsGroupsNeed) {
  const std::string start =
      "clusterTag: a\ncloud: {kind: acme}\nnodeGroups:\n- {name: a, maxSize: 2, flavor: anvil";
  EXPECT_OK(Parse(start + ", zone: desert, sshKeys: [ssh-ed25519 AAAA me], "
                          "extra: {project: tnt, other: x}}\n"));
  EXPECT_FALSE(Parse(start + ", image: debian}\n").ok());
  EXPECT_THAT(
      Complaints(),
      ElementsAre(
          "/etc/coppice/config.yaml:4:3: error: nodeGroups[0].zone: is required",
          "/etc/coppice/config.yaml:4:3: error: nodeGroups[0].sshKeys: is required",
          "/etc/coppice/config.yaml:4:3: error: nodeGroups[0].extra: 'project' is required"));
  EXPECT_FALSE(Parse(start + ", zone: '', sshKeys: [], extra: {project: ''}}\n").ok());
  EXPECT_THAT(Complaints(),
              ElementsAre(HasSubstr("nodeGroups[0].zone: must not be empty"),
                          HasSubstr("nodeGroups[0].extra: 'project' must not be empty")));
  EXPECT_FALSE(Parse(start + ", zone: z, sshKeys: [], extra: project}\n").ok());
  EXPECT_THAT(Complaints(), Contains(HasSubstr("extra: 'project' is required")));
}

// That there is no such cloud is said when it is opened: the file of another build is read here.
TEST_F(ProviderConfigTest, OfACloudThatIsNotLinkedInNothingIsRequired) {
  EXPECT_OK(
      Parse("clusterTag: a\ncloud: {kind: away}\n"
            "nodeGroups: [{name: a, maxSize: 2, flavor: f}]\n"));
}

TEST(LoadProviderConfigTest, ReadsUserDataBesideTheFile) {
  const std::string folder = testing::TempDir() + "provider-config-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/config.yaml") << "clusterTag: a\n"
                                         << kGroup << "    userData: \"@data.bin\"\n";
  std::ofstream(folder + "/data.bin") << "two\nlines\n";
  yaml::Problems problems;
  const auto getenv = [](const char*) -> const char* { return nullptr; };
  const cloud::CloudRegistry clouds = CloudsWithRequirements();
  const ConfigRules rules{clouds, getenv};
  EXPECT_EQ(MUST(LoadProviderConfig(folder + "/config.yaml", rules, problems)).groups[0].user_data,
            "two\nlines\n");
  EXPECT_FALSE(LoadProviderConfig(folder + "/none.yaml", rules, problems).ok());
  std::filesystem::remove_all(folder);
}

TEST(ExpandEnvTest, DoesAsGoDoes) {
  const std::map<std::string, std::string> env = {{"A", "1"}, {"A_B", "2"}, {"*", "star"}};
  const auto getenv = [&env](const char* name) {
    const auto it = env.find(name);
    return it == env.end() ? nullptr : it->second.c_str();
  };
  const std::map<std::string, std::string> rows = {
      {"", ""},          {"plain", "plain"}, {"$A", "1"},     {"${A}", "1"},
      {"x${A}y", "x1y"}, {"$A_B", "2"},      {"$A-b", "1-b"}, {"$", "$"},
      {"a$", "a$"},      {"$ b", "$ b"},     {"${}", ""},     {"${A", "A"},
      {"$*x", "starx"},  {"${*}", "star"},   {"$NONE!", "!"}, {"$(A)", "$(A)"}};
  for (const auto& [text, expanded] : rows) {
    std::vector<std::string> missing;
    EXPECT_EQ(ExpandEnv(text, getenv, missing), expanded) << text;
  }
}

}  // namespace
}  // namespace coppice::provider
