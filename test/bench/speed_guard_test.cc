// A fall back into work that grows with pods times nodes fails here, on any machine: the limits are
// far above what is promised (pass_bench.cc, engine_bench.cc) and far below what such work would take.

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/url.h"
#include "plugins/batch/extender/factory.h"
#include "plugins/batch/extender/reference_server.h"
#include "provision/bench_load.h"
#include "provision/disruption/disruption_scene.h"
#include "provision/disruption/methods.h"
#include "test/bench/autoscale_cases.h"
#include "test/bench/pool_cases.h"
#include "test/bench/session_cases.h"
#include "test/support/discovered_plugins.h"

namespace coppice::bench {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double kSlack = 20;
#elif defined(NDEBUG)
constexpr double kSlack = 1;
#else
constexpr double kSlack = 10;  // not optimised
#endif

// The better of two runs: the first one also pays for fresh memory.
template <class Run>
double Best(Run run) {
  const double first = run();
  return std::min(first, run());
}

TEST(SpeedGuardTest, ScaleUpFor50000PodsWithoutAController) {
  EXPECT_LT(Best([] { return RunOnceScaleUp(50'000, 1'000); }), 0.5 * kSlack);
}

TEST(SpeedGuardTest, ScaleDownOf2000Nodes) {
  EXPECT_LT(Best([] { return RunOnceScaleDown(2'000); }), 0.7 * kSlack);
}

TEST(SpeedGuardTest, EstimateOf51000Pods) { EXPECT_LT(Best(Estimate51000), 0.025 * kSlack); }

TEST(SpeedGuardTest, TwelveThousandPendingPodsAgainstAThousandNodes) {
  EXPECT_LT(Best([] { return FilterOutSchedulable(1'000, 1'000, 12'000); }), 0.1 * kSlack);
}

double QuietPass(int nodes) {
  Everyday cluster(nodes, 10, 80, {"--upstream-exact", "--max-nodes-total=100000"});
  cluster.Later(std::chrono::minutes(2));
  cluster.rig().Pass();
  double best = 1e9;
  for (int round = 1; round <= 5; ++round) {
    cluster.ChangeALittle(round);
    best = std::min(best, SecondsOf([&] { cluster.rig().Pass(); }));
  }
  return best;
}

TEST(SpeedGuardTest, AQuietPassGrowsNoFasterThanTheCluster) {
  const double small = QuietPass(400);
  const double large = QuietPass(4'000);
  EXPECT_LT(large, 0.2 * kSlack);
  EXPECT_LT(large / small, 25);  // ten times the nodes; caches make it somewhat more
}

TEST(SpeedGuardTest, PoolsSolveFor5000DiversePods) {
  const provision::SolverInput input = provision::BenchInput(400);
  const auto pods = provision::BenchPods(42).Diverse(5'000);
  const auto solve = [&] {
    return SecondsOf([&] {
      provision::Solver solver(input, {});
      EXPECT_FALSE(solver.Solve({.pods = pods}).claims.empty());
    });
  };
  EXPECT_LT(Best(solve), 0.4 * kSlack);
}

TEST(SpeedGuardTest, PoolsLookAt1000MachinesOfWhichNoneCanGo) {
  const auto world = provision::FullScene(1'000).World();
  const auto round = [&] {
    return SecondsOf([&] {
      provision::DisruptionRound asked(world, {});
      for (const auto method : provision::AllMethods())
        EXPECT_TRUE(asked.Ask(method).commands.empty());
    });
  };
  EXPECT_LT(Best(round), 1.0 * kSlack);
}

TEST(SpeedGuardTest, AQuietPassOfPoolsGrowsNoFasterThanTheCluster) {
  const auto quiet = [](int nodes) {
    PoolsAtRest pools(nodes);
    double best = 1e9;
    for (int i = 0; i < 4; ++i) {
      pools.PassAfter(std::chrono::seconds(11));  // and a round
      best = std::min(best, pools.watch.decided());
    }
    return best;
  };
  const double small = quiet(100);
  const double large = quiet(1'000);
  EXPECT_LT(large, 0.05 * kSlack);
  EXPECT_LT(large / small, 60);  // ten times the machines, and they do not fit into the cache
}

// Gangs on empty nodes, as the comparison with the real Volcano has them.
double WholeSession(int64_t nodes, int64_t gangs, int64_t pods,
                    const batch::PluginRegistry& plugins, const std::string& more = "") {
  SessionCase world;
  AddNodes(world, nodes);
  for (int64_t i = 0; i < gangs; ++i) AddGang(world, i, pods);
  AddQueues(world);
  const batch::Conf conf = batch::ParseConf(std::string(kPeersConf) + more).value();
  size_t bound = 0;
  const double seconds = SecondsOf([&] {
    auto session = batch::Session::Open(conf, {}, plugins, test::ThePlugins().filters,
                                        world.snapshot, world.input);
    CHECK(session.ok());
    (*session)->Run();
    bound = (*session)->Close().binds.size();
  });
  CHECK(bound == static_cast<size_t>(gangs * pods));
  return seconds;
}

TEST(SpeedGuardTest, ASessionOf10000PodsOnAThousandNodes) {
  const double seconds =
      Best([] { return WholeSession(1'000, 100, 100, test::ThePlugins().batch); });
  EXPECT_LT(seconds, 0.5 * kSlack);
}

// An extender at no distance, on the thread that asks: questions are written, read, answered, read.
class NearExtender {
 public:
  batch::PluginRegistry Plugins() {
    batch::PluginRegistry plugins;
    for (const std::string& name : test::ThePlugins().batch.names()) {
      if (name != "extender") plugins.Add(name, test::ThePlugins().batch.Find(name).value());
    }
    plugins.Add(
        "extender",
        batch::extender::MakeFactory(
            clock_,
            [this](const net::HttpClientOptions&) -> Result<std::unique_ptr<net::HttpClient>> {
              return std::unique_ptr<net::HttpClient>(std::make_unique<Client>(*this));
            },
            [this](const net::HttpPipesOptions&) -> std::unique_ptr<net::HttpPipes> {
              return std::make_unique<Pipes>(*this);
            }));
    return plugins;
  }
  static std::string Conf(const std::string& arguments) {
    return "  - name: extender\n    arguments: {extender.urlPrefix: 'http://127.0.0.1:1', "
           "extender.httpTimeout: 60s, " +
           arguments + "}\n";
  }
  size_t questions() const { return questions_; }

 private:
  net::HttpResponse Answer(const std::string& path, std::string body) {
    ++questions_;
    auto answer = server_.Answer({.method = "POST", .path = path, .body = std::move(body)});
    return {.status = answer.status, .body = std::move(answer.body)};
  }

  struct Client final : net::HttpClient {
    explicit Client(NearExtender& to) : to_(to) {}
    Result<net::HttpResponse> Send(const net::HttpRequest& request, Deadline) override {
      return to_.Answer(net::ParseUrl(request.url)->path, request.body);
    }
    NearExtender& to_;
  };
  struct Pipes final : net::HttpPipes {
    explicit Pipes(NearExtender& to) : to_(to) {}
    std::vector<std::optional<Result<net::HttpResponse>>> Ask(
        const Question& question, size_t count,
        const std::function<std::string(size_t)>& body) override {
      std::vector<std::optional<Result<net::HttpResponse>>> answers;
      for (size_t i = 0; i < count; ++i)
        answers.emplace_back(to_.Answer(question.url.path, body(i)));
      return answers;
    }
    NearExtender& to_;
  };

  SystemClock clock_;
  batch::extender::ReferenceServer server_;
  size_t questions_ = 0;
};

TEST(SpeedGuardTest, AnExtenderAskedAboutEveryTaskOnEveryNode) {
  NearExtender extender;
  const auto plugins = extender.Plugins();
  const std::string conf = NearExtender::Conf("extender.predicateVerb: predicate");
  const double seconds = Best([&] { return WholeSession(500, 1, 20, plugins, conf); });
  EXPECT_EQ(extender.questions(), 2 * 20 * 500u);
  EXPECT_LT(seconds, 1 * kSlack);
}

TEST(SpeedGuardTest, AnExtenderAskedOncePerTaskByName) {
  NearExtender extender;
  const auto plugins = extender.Plugins();
  const std::string conf = NearExtender::Conf(
      "extender.onSessionOpenVerb: onSessionOpen, extender.batchPredicateVerb: batchPredicate, "
      "extender.compact: true");
  const double seconds = Best([&] { return WholeSession(1'000, 1, 100, plugins, conf); });
  EXPECT_EQ(extender.questions(), 2 * (100u + 1));
  EXPECT_LT(seconds, 0.5 * kSlack);
}

}  // namespace
}  // namespace coppice::bench
