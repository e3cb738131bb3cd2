// web_crowd: the dashboard of a cluster that is made up: so many nodes, so many pods, so many changes per second and a pass every ten
// seconds of its time, to see what a page and a server make of it. Prints its address; ends when its standard input does. With --bench it measures what being watched costs
// whoever posts, opens that many streams itself, and ends.
//
//   web_crowd NODES PODS LOOKS_PER_SECOND SECONDS_PER_LOOK
//   web_crowd --bench NODES STREAMS
//   web_crowd --day NODES               what a day of it takes in memory, a look every 30 s
//   web_crowd --gangs                   a few nodes, and what a batch scheduler reports (queues, gangs that wait, an extender) and node pools

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <random>
#include <thread>

#include "web/site.h"

namespace coppice::web {
namespace {

class Crowd {
 public:
  Crowd(int nodes, int pods) : pods_(pods) {
    for (int i = 0; i < nodes; ++i) names_.push_back(MakeNode(i));
    use_.assign(names_.size(), 500);
  }

  // A twentieth of the nodes is used otherwise than before; some pods come, some go.
  std::shared_ptr<const Seen> Look(TimePoint now) {
    auto seen = std::make_shared<Seen>();
    seen->at = now;
    for (int g = 0; g < 12; ++g)
      seen->rows.push_back(
          {.name = "group-" + std::to_string(g), .max = 400, .target = 170, .price = 0.4});
    for (size_t i = 0; i < names_.size(); ++i) {
      if (Draw(20) == 0) use_[i] = static_cast<int16_t>(Draw(1000));
      seen->nodes.push_back({.node = names_[i],
                             .row = "group-" + std::to_string(i % 12),
                             .cpu = use_[i],
                             .memory = static_cast<int16_t>(1000 - use_[i]),
                             .pods = static_cast<uint32_t>(pods_ / static_cast<int>(names_.size())),
                             .price = 0.4});
    }
    for (int i = 0; i < 400; ++i) seen->pending.push_back(MakePod(static_cast<int>(Draw(40)), i));
    seen->running = static_cast<size_t>(pods_) + Draw(100);
    pending_ = seen->pending;
    return seen;
  }

  // What a pass might say of that: a purchase, a node that goes, pods that no group takes (each time
  // others, and for another reason), why every other node stays.
  PassInfo Pass(TimePoint now) {
    auto report = std::make_shared<report::PassReport>();
    report->at = now;
    report->took = {{"scaleUp", std::chrono::milliseconds(9 + Draw(20))},
                    {"scaleDown", std::chrono::milliseconds(4)}};
    report::ScaleUp& up = report->scale_up;
    up.result = report::ScaleUpResult::kSuccessful;
    const std::string chosen = "group-" + std::to_string(Draw(12));
    up.resizes = {{.group = chosen, .from = 170, .to = 172, .max = 400}};
    up.chosen = chosen;
    for (int g = 0; g < 12; ++g) {
      const std::string group = "group-" + std::to_string(g);
      up.considered_groups.push_back(group);
      up.options.push_back({.group = group, .nodes = 2, .pods = 5});
    }
    up.chosen_by = {{.expander = "least-waste", .survivors = {chosen}}};
    AddPods(up);
    for (size_t i = 0; i < names_.size(); ++i) {
      report->scale_down.staying.push_back({.node = names_[i]->metadata.name,
                                            .reason = report::StayReason::kNotUnderutilized,
                                            .group = "group-" + std::to_string(i % 12)});
    }
    const std::string& gone = names_[Draw(names_.size())]->metadata.name;
    report->scale_down.removed = {{.node = gone, .group = "group-1"}};
    return {std::move(report), std::chrono::milliseconds(20 + Draw(30))};
  }

 private:
  uint64_t Draw(uint64_t below) { return random_() % below; }

  static cluster::NodePtr MakeNode(int i) {
    model::Node node;
    node.metadata.name = "node-" + std::to_string(i);
    node.metadata.labels["node.kubernetes.io/instance-type"] = "medium-4-16";
    node.status.conditions = {{.type = "Ready", .status = "True"}};
    return std::make_shared<const model::Node>(std::move(node));
  }
  static cluster::PodPtr MakePod(int owner, int i) {
    model::Pod pod;
    pod.metadata.namespace_ = "load";
    pod.metadata.name = "app" + std::to_string(owner) + "-" + std::to_string(i);
    pod.metadata.owner_references = {
        {.kind = "ReplicaSet",
         .name = "app" + std::string(1, static_cast<char>('a' + owner % 26)),
         .controller = true}};
    return std::make_shared<const model::Pod>(std::move(pod));
  }

  void AddPods(report::ScaleUp& up) {
    report::Unhelped unhelped;
    for (size_t i = 0; i < pending_.size(); ++i) {
      if (i < 5) up.triggered.push_back(pending_[i]);
      if (i >= 5 && i % 10 == 0) unhelped.pods.push_back(pending_[i]);
    }
    const auto free = static_cast<int64_t>(Draw(1'000));
    for (const std::string& group : up.considered_groups) {
      const model::Refusal refusal{
          .plugin = "NodeResourcesFit",
          .reasons = {"Insufficient cpu"},
          .shortfalls = {{.what = "cpu", .asked = 2'000, .free = free, .capacity = 4'000}}};
      unhelped.rejected.emplace(group, model::Verdict::No(refusal));
    }
    unhelped.misses = {{.group = "group-3",
                        .changes = {{.amount = 2'000 - free,
                                     .text = "its request of cpu were " +
                                             std::to_string(2'000 - free) + "m smaller"}}}};
    up.unhelped.push_back(std::move(unhelped));
  }

  const int pods_;
  std::vector<cluster::PodPtr> pending_;  // of the last look
  std::vector<cluster::NodePtr> names_;
  std::vector<int16_t> use_;
  std::mt19937_64 random_{1};
};

// A pool that waits for its type, and pods that it does not take.
std::shared_ptr<const report::ProvisionReport> Pools(TimePoint now) {
  auto pools = std::make_shared<report::ProvisionReport>();
  pools->at = now;
  pools->took = std::chrono::milliseconds(4);
  pools->stages = {{"machines", std::chrono::milliseconds(1)},
                   {"disruption", std::chrono::milliseconds(3)}};
  pools->pools = {{.name = "spot", .ready = true, .nodes = 1}};
  pools->claims = {{.name = "spot-x",
                    .pool = "spot",
                    .node = "node-1",
                    .price = 0.2,
                    .stage = "Ready",
                    .expires = now + std::chrono::hours(700)},
                   {.name = "spot-y", .pool = "spot", .stage = "Launching"}};
  pools->provisioning.emplace();
  pools->provisioning->at = now;
  model::Pod pod;
  pod.metadata.namespace_ = "load";
  pod.metadata.name = "huge-1";
  pools->provisioning->unplaced = {
      {.pod = std::make_shared<const model::Pod>(std::move(pod)),
       .text = "no instance type has enough memory",
       .misses = {{.pool = "spot",
                   .what = report::PoolMiss::What::kResource,
                   .text = "it asks for 2Ti, at most 512Gi",
                   .tried = true,
                   .would_take_if = "it asked for no more than 512Gi of memory",
                   .shortfalls = {{.what = "memory",
                                   .asked = int64_t{2} << 40,
                                   .free = int64_t{512} << 30,
                                   .capacity = int64_t{512} << 30}}}}}};
  return pools;
}

// Two gangs that wait, one of them for machines that are bought, in one of two queues.
std::shared_ptr<const report::SessionReport> Gangs(TimePoint now) {
  using State = report::WaitingGang::State;
  auto session = std::make_shared<report::SessionReport>();
  session->began = now;
  session->took = std::chrono::milliseconds(7);
  session->queues = {{.name = "default", .state = "Open", .weight = 1},
                     {.name = "research",
                      .state = "Open",
                      .weight = 3,
                      .share = 0.75,
                      .amounts = {{.resource = "cpu", .held = 24'000, .deserved = 32'000},
                                  {.resource = "memory", .held = 64e9, .deserved = 128e9}}}};
  session->waiting = {{.job = "ml/train",
                       .queue = "research",
                       .admitted = true,
                       .min_available = 8,
                       .placed = 5,
                       .pods = 3,
                       .why = "3 Insufficient nvidia.com/gpu"},
                      {.job = "ml/big",
                       .queue = "research",
                       .min_available = 64,
                       .pods = 64,
                       .why = "64 Insufficient cpu"}};
  session->gangs = {
      {.gang = "ml/train",
       .with_room = 5,
       .lacking = {{.role = "worker", .tasks = 3}, {.role = "late", .tasks = 1, .created = false}},
       .state = State::kOrdered,
       .lots = {{.seller = "node groups", .source = "gpu", .machines = 2, .claimed = 1}},
       .price_per_hour = 7.5,
       .coming = 2,
       .held_nodes = {"node-3"},
       .held_until = now + std::chrono::minutes(10),
       .why = "machines were bought for it and are on their way"},
      {.gang = "ml/big",
       .state = State::kRefused,
       .refusals = {"node groups: general would have to grow to 40, its maximum is 20"},
       .why = "no seller has all that it lacks"}};
  if (now.time_since_epoch() % std::chrono::seconds(20) < std::chrono::seconds(1)) {
    session->evictions = {{.pod = "ml/small-1", .why = "preempted by ml/train"},
                          {.pod = "ml/small-2", .why = "preempted by ml/train"}};
  }
  session->stages = {{"open", std::chrono::milliseconds(2)},
                     {"allocate", std::chrono::milliseconds(5)}};
  session->groups = {{.group = "ml/done", .phase = "Running"}};
  session->outside = {
      {.name = "http://quota.example/v1", .state = "open", .text = "no answer in 1 s"}};
  return session;
}

int Stream(uint16_t port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0) std::abort();
  constexpr char kAsk[] = "GET /api/v1/events HTTP/1.1\r\nHost: localhost\r\n\r\n";
  if (::send(fd, kAsk, sizeof(kAsk) - 1, 0) <= 0) std::abort();
  return fd;
}

// Of this thread: being preempted by those that it wakes is not its work.
double CpuMicros() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_nsec) / 1e3;
}

// What a post costs the thread that decides, with nobody watching and with many.
void Bench(Board& board, uint16_t port, int nodes, int streams) {
  Crowd crowd(nodes, nodes * 10);
  TimePoint now{std::chrono::seconds(1'767'592'800)};
  const auto measure = [&](const char* what) {
    std::vector<double> costs;
    for (int i = 0; i < 100; ++i) {
      now += std::chrono::seconds(10);
      auto seen = crowd.Look(now);
      const double began = CpuMicros();
      board.Post(std::move(seen));
      costs.push_back(CpuMicros() - began);
      board.Flush();
    }
    std::ranges::sort(costs);
    std::printf(
        "post, processor time of the thread that posts, %d nodes, %s: median %.2f us, worst of 100 "
        "%.2f us\n",
        nodes, what, costs[50], costs.back());
  };
  measure("no stream");
  std::vector<int> open;
  for (int i = 0; i < streams; ++i) open.push_back(Stream(port));
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> bytes = 0;
  std::thread reader([&] {
    std::vector<pollfd> ends;
    for (const int fd : open) ends.push_back({.fd = fd, .events = POLLIN, .revents = 0});
    std::string buffer(1 << 16, '\0');
    while (!stop) {
      poll(ends.data(), ends.size(), 50);
      for (const pollfd& end : ends)
        if ((end.revents & POLLIN) != 0)
          if (const ssize_t length = recv(end.fd, buffer.data(), buffer.size(), 0); length > 0)
            bytes += static_cast<uint64_t>(length);
    }
  });
  while (board.watchers() < static_cast<size_t>(streams)) std::this_thread::yield();
  measure((std::to_string(streams) + " streams").c_str());
  stop = true;
  reader.join();
  std::printf("%zu streams still open, %.1f MB sent to them\n", board.watchers(),
              static_cast<double>(bytes) / 1e6);
  for (const int fd : open) close(fd);
}

void Day(Board& board, int nodes) {
  Crowd crowd(nodes, nodes * 10);
  TimePoint now{std::chrono::seconds(1'767'592'800)};
  constexpr std::chrono::seconds kStep(30);
  const int looks = static_cast<int>(std::chrono::hours(24) / kStep);
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < looks; ++i, now += kStep) {
    board.Post(crowd.Look(now));
    board.Flush();
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - began;
  report::JsonOut out;
  out.Open('{');
  board.story().WriteHealth(out);
  std::printf("%d looks at %d nodes and %d pods in %.1f s; %s\n", looks, nodes, nodes * 10,
              took.count(), out.Close('}').Take().c_str());
}

int Main(int argc, char** argv) {
  SystemClock clock;
  Board board;
  Guard guard({}, clock);
  Desk desk(
      [](const Question&, const std::function<bool()>&) -> Result<std::string> {
        return Unavailable("there is no engine here");
      },
      std::chrono::seconds(1));
  Site site({.board = board, .guard = guard, .desk = &desk, .health = [](report::JsonOut& out) {
               out.Field("version", "made up").Field("rssBytes", 0).Key("plugins").Open('{');
               out.Close('}');
             }});
  auto server = net::HttpServer::Create(
      SiteServerOptions({"127.0.0.1", 0}, Log::Null()),
      [&](const net::ServerRequest& request) { return site.Answer(request); });
  if (!server.ok()) return 1;
  if (argc == 4 && std::strcmp(argv[1], "--bench") == 0) {
    Bench(board, (*server)->port(), std::atoi(argv[2]), std::atoi(argv[3]));
    return 0;
  }
  if (argc == 3 && std::strcmp(argv[1], "--day") == 0) {
    Day(board, std::atoi(argv[2]));
    return 0;
  }
  const bool gangs = argc == 2 && std::strcmp(argv[1], "--gangs") == 0;
  if (argc != 5 && !gangs) return 2;
  const int nodes = gangs ? 12 : std::atoi(argv[1]);
  const int pods = gangs ? 60 : std::atoi(argv[2]);
  const int looks = gangs ? 4 : std::max(1, std::atoi(argv[3]));
  const std::chrono::seconds step(gangs ? 1 : std::atoi(argv[4]));
  std::printf("Dashboard: http://127.0.0.1:%d/\n", (*server)->port());
  std::fflush(stdout);
  Crowd crowd(nodes, pods);
  TimePoint now{std::chrono::seconds(1'767'592'800)};
  for (TimePoint passed{};;) {
    now += step;
    if (gangs) board.Post(Gangs(now));
    if (gangs) board.Post(Pools(now));
    auto seen = crowd.Look(now);
    // As often as the autoscaler does, by the cluster's clock.
    if (!gangs && now - passed >= std::chrono::seconds(10)) {
      passed = now;
      board.Post(crowd.Pass(now));
    }
    board.Post(std::move(seen));
    pollfd input{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
    if (poll(&input, 1, 1000 / looks) > 0) return 0;
  }
}

}  // namespace
}  // namespace coppice::web

int main(int argc, char** argv) { return coppice::web::Main(argc, argv); }
