// What asking an extender costs: one session in which every task is asked about on every node, by
// one call per pair, by one call per task, and the same with bodies that only name things.
//
//   extender_bench URL [NODES [TASKS]]     with `coppice extender` at URL
//
// tools/compare extender runs it beside the real Volcano, which has the first of the three alone.

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "base/check.h"
#include "batch/session.h"
#include "net/http_client.h"
#include "plugins/batch/extender/factory.h"
#include "test/bench/session_cases.h"
#include "test/support/discovered_plugins.h"

namespace coppice {
namespace {

// Counts what goes over the wire, headers aside.
struct Traffic {
  std::atomic<uint64_t> calls{0};
  std::atomic<uint64_t> bytes{0};
};

class CountingClient final : public net::HttpClient {
 public:
  CountingClient(std::unique_ptr<net::HttpClient> client, Traffic& traffic)
      : client_(std::move(client)), traffic_(traffic) {}
  Result<net::HttpResponse> Send(const net::HttpRequest& request, Deadline deadline) override {
    auto response = client_->Send(request, deadline);
    ++traffic_.calls;
    traffic_.bytes += request.body.size() + (response.ok() ? response->body.size() : 0);
    return response;
  }

 private:
  const std::unique_ptr<net::HttpClient> client_;
  Traffic& traffic_;
};

class CountingPipes final : public net::HttpPipes {
 public:
  CountingPipes(std::unique_ptr<net::HttpPipes> pipes, Traffic& traffic)
      : pipes_(std::move(pipes)), traffic_(traffic) {}
  std::vector<std::optional<Result<net::HttpResponse>>> Ask(
      const Question& question, size_t count,
      const std::function<std::string(size_t)>& body) override {
    auto answers = pipes_->Ask(question, count, [&](size_t i) {
      std::string text = body(i);
      ++traffic_.calls;
      traffic_.bytes += text.size();
      return text;
    });
    for (const auto& answer : answers)
      traffic_.bytes += answer && answer->ok() ? (*answer)->body.size() : 0;
    return answers;
  }

 private:
  const std::unique_ptr<net::HttpPipes> pipes_;
  Traffic& traffic_;
};

struct Mode {
  const char* name;
  const char* arguments;
  bool opening;  // one call more at the beginning
};
constexpr Mode kModes[] = {
    {"compatible", "      extender.predicateVerb: predicate\n", false},
    {"batch", "      extender.batchPredicateVerb: batchPredicate\n", false},
    {"batch+compact",
     "      extender.onSessionOpenVerb: onSessionOpen\n"
     "      extender.batchPredicateVerb: batchPredicate\n"
     "      extender.compact: true\n",
     true},
};

// Pairs of task and node that were asked about: the calls of the first mode, for all modes ask the
// same. A node that is full is not asked about.
double Measure(const Mode& mode, const std::string& url, int64_t nodes, int64_t tasks,
               double decisions) {
  bench::SessionCase world;
  bench::AddNodes(world, nodes);
  bench::AddGang(world, 0, tasks);
  bench::AddQueues(world);
  Traffic traffic;
  static const SystemClock kClock;
  // All of the discovered ones, and of this one ours.
  batch::PluginRegistry plugins;
  for (const std::string& name : test::ThePlugins().batch.names()) {
    if (name != "extender") plugins.Add(name, test::ThePlugins().batch.Find(name).value());
  }
  plugins.Add("extender",
              batch::extender::MakeFactory(
                  kClock,
                  [&](net::HttpClientOptions options) -> Result<std::unique_ptr<net::HttpClient>> {
                    auto client = TRY(net::MakeHttpClient(std::move(options), kClock));
                    return std::unique_ptr<net::HttpClient>(
                        std::make_unique<CountingClient>(std::move(client), traffic));
                  },
                  [&](net::HttpPipesOptions options) -> std::unique_ptr<net::HttpPipes> {
                    return std::make_unique<CountingPipes>(net::MakeHttpPipes(std::move(options)),
                                                           traffic);
                  }));
  const batch::Conf conf =
      batch::ParseConf(std::string(bench::kPeersConf) +
                       "  - name: extender\n    arguments:\n      extender.urlPrefix: " + url +
                       "\n      extender.httpTimeout: 60s\n" + mode.arguments)
          .value();
  const TimePoint began = kClock.Now();
  auto session = batch::Session::Open(conf, {}, plugins, test::ThePlugins().filters, world.snapshot,
                                      world.input);
  CHECK(session.ok());
  (*session)->Run();
  const size_t bound = (*session)->Close().binds.size();
  const double seconds = std::chrono::duration<double>(kClock.Now() - began).count();
  CHECK(bound == static_cast<size_t>(tasks));
  const auto calls = static_cast<double>(traffic.calls.load());
  if (decisions == 0) {
    decisions = calls;
    CHECK(calls > 0.9 * static_cast<double>(nodes * tasks));
  } else {
    CHECK(calls == static_cast<double>(tasks + (mode.opening ? 1 : 0)));
  }
  fmt::print(
      "mode={} nodes={} tasks={} seconds={:.3f} calls={} calls/s={:.0f} decisions/s={:.0f} "
      "bytes/decision={:.1f}\n",
      mode.name, nodes, tasks, seconds, traffic.calls.load(), calls / seconds, decisions / seconds,
      static_cast<double>(traffic.bytes.load()) / decisions);
  return decisions;
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: extender_bench URL [NODES [TASKS [MODE]]]\n");
    return 2;
  }
  const int64_t nodes = argc > 2 ? std::atoll(argv[2]) : 1'000;
  const int64_t tasks = argc > 3 ? std::atoll(argv[3]) : 100;
  const std::string_view only = argc > 4 ? argv[4] : "";  // for a profile
  double decisions = only.empty() ? 0 : static_cast<double>(nodes * tasks);
  for (const coppice::Mode& mode : coppice::kModes)
    if (only.empty() || only == mode.name)
      decisions = coppice::Measure(mode, argv[1], nodes, tasks, decisions);
  return 0;
}
