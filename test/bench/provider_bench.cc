// What a call costs: every read RPC over mutual TLS on loopback, with 15,000 machines in 200
// groups, 1 and 64 calls in flight on one connection.
//
//   provider_bench [SECONDS PER ROW]
//       our server, in a process of its own
//   provider_bench SECONDS ADDRESS CERT KEY CA PID NODE GROUP
//       somebody else's, with the same client: PID for its CPU time and memory, NODE a provider id
//       and GROUP a node group that it knows
//
// Client and server share the machine: read ratios. CPU is the server's alone.

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "base/log.h"
#include "base/metrics.h"
#include "base/pool.h"
#include "cloud/cloud_node_groups.h"
#include "cloud/fake_cloud.h"
#include "externalgrpc.pb.h"
#include "grpc/interceptors.h"
#include "grpc/server.h"
#include "rpc/node_group_server.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"
#include "wire/wire.h"

#if defined(COPPICE_MIMALLOC)
#include <mimalloc.h>
#endif

namespace coppice {
namespace {

namespace pb = clusterautoscaler::cloudprovider::v1::externalgrpc;
using std::chrono::steady_clock;

constexpr int kGroups = 200;
constexpr int kMachines = 15'000;

std::string GroupName(int i) { return "group-" + std::to_string(i); }

// ---- The server's process
// --------------------------------------------------------------------------------

std::string FillCloud(cloud::FakeCloud& cloud) {
  std::string some_id;
  for (int i = 0; i < kMachines; ++i) {
    const cloud::MachineSpec spec{
        .name = GroupName(i % kGroups) + "-" + std::to_string(i),
        .flavor = "small",
        .tags = {{cloud::kGroupTag, GroupName(i % kGroups)}, {cloud::kClusterTag, "bench"}}};
    some_id = MUST(cloud.Create(spec, Deadline::Never())).id;
  }
  return some_id;
}

// Serves until it is killed. Writes the port and a provider id to `out`.
[[noreturn]] void Serve(const test::TempDirectory& dir, int out) {
  SystemClock clock;
  const Log log = Log::Null();
  Metrics metrics;
  SeededRng rng(1);
  cloud::FakeCloud cloud(clock);
  const std::string node = FillCloud(cloud);
  std::vector<cloud::GroupConfig> configs;
  for (int i = 0; i < kGroups; ++i) {
    configs.push_back(
        {.name = GroupName(i), .max_size = 1'000, .flavor = "small", .volume_size_gb = 50});
  }
  Pool cloud_workers(10, 100'000);
  const auto groups =
      MUST(cloud::CloudNodeGroups::Create({.cloud = cloud,
                                           .workers = cloud_workers,
                                           .clock = clock,
                                           .rng = rng,
                                           .log = log,
                                           .metrics = metrics},
                                          {.cluster = "bench"}, std::move(configs)));
  ::coppice::test::MustValue(Result<int>(groups->Refresh(Deadline::Never()).ok() ? 1 : 0));
  std::vector<grpc::Service> services;
  services.push_back(grpc::Intercept(rpc::NodeGroupService(*groups),
                                     {.clock = clock, .log = log, .metrics = metrics}));
  Pool workers(8, 1'000);
  grpc::ServerOptions options{
      .listen = "127.0.0.1:0",
      .certificates = MUST(grpc::CertificateStore::Open({.cert_file = dir.At("server.crt"),
                                                         .key_file = dir.At("server.key"),
                                                         .ca_file = dir.At("ca.crt")},
                                                        log))};
  const auto server = MUST(grpc::Server::Start(options, std::move(services), workers, clock, log));
  const std::string line = std::to_string(server->port()) + " " + node + "\n";
  if (write(out, line.data(), line.size()) < 0) std::abort();
  for (;;) pause();
}

// ---- The client
// ------------------------------------------------------------------------------------------

struct Target {
  std::string address;
  std::string cert, key, ca;
  pid_t pid = 0;
  std::string node;
  std::string group = "group-7";
};

double CpuSeconds(pid_t pid) {
  clockid_t clock = 0;
  timespec time{};
  if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

double RssMegabytes(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(in, line);) {
    if (line.rfind("VmRSS:", 0) == 0) return std::stod(line.substr(6)) / 1024;
  }
  return 0;
}

struct Row {
  double calls_per_second = 0;
  double p50_micros = 0;
  double p99_micros = 0;
  double cpu_micros = 0;
  int failures = 0;
};

class Client {
 public:
  explicit Client(const Target& target) : target_(target) {
    ::grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride("localhost");
    arguments.SetMaxReceiveMessageSize(64 << 20);
    channel_ = ::grpc::CreateCustomChannel(
        target.address, ::grpc::SslCredentials({target.ca, target.key, target.cert}), arguments);
    stub_ = std::make_unique<::grpc::GenericStub>(channel_);
  }

  Row Measure(const std::string& method, const std::string& request, int in_flight,
              double seconds) {
    const std::string path = "/" + std::string(rpc::kCloudProviderService) + "/" + method;
    const ::grpc::Slice slice(request);
    message_ = ::grpc::ByteBuffer(&slice, 1);
    Run(path, in_flight, seconds / 5);  // warm
    const double cpu = CpuSeconds(target_.pid);
    const auto start = steady_clock::now();
    std::vector<double> micros = Run(path, in_flight, seconds);
    const double took = std::chrono::duration<double>(steady_clock::now() - start).count();
    const auto count = static_cast<double>(std::max<size_t>(micros.size(), 1));
    const double spent = CpuSeconds(target_.pid) - cpu;
    std::ranges::sort(micros);
    const auto at = [&](double p) {
      return micros.empty()
                 ? 0
                 : micros[static_cast<size_t>(p * static_cast<double>(micros.size() - 1))];
    };
    return {count / took, at(0.5), at(0.99), spent / count * 1e6, failures_};
  }

 private:
  struct Pending {
    ::grpc::ClientContext context;
    ::grpc::ByteBuffer answer;
    ::grpc::Status status;
    steady_clock::time_point start;
    std::unique_ptr<::grpc::GenericClientAsyncResponseReader> reader;
  };

  void Begin(const std::string& path) {
    auto* call = new Pending;
    call->start = steady_clock::now();
    call->context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(30));
    call->reader = stub_->PrepareUnaryCall(&call->context, path, message_, &queue_);
    call->reader->StartCall();
    call->reader->Finish(&call->answer, &call->status, call);
  }

  std::vector<double> Run(const std::string& path, int in_flight, double seconds) {
    std::vector<double> micros;
    failures_ = 0;
    const auto end = steady_clock::now() + std::chrono::duration<double>(seconds);
    for (int i = 0; i < in_flight; ++i) Begin(path);
    for (int open = in_flight; open > 0;) {
      void* tag = nullptr;
      bool ok = false;
      queue_.Next(&tag, &ok);
      const std::unique_ptr<Pending> call(static_cast<Pending*>(tag));
      const auto now = steady_clock::now();
      micros.push_back(std::chrono::duration<double, std::micro>(now - call->start).count());
      if (!call->status.ok()) {
        if (failures_++ == 0)
          std::fprintf(stderr, "%s: %s\n", path.c_str(), call->status.error_message().c_str());
      }
      if (now < end) {
        Begin(path);
      } else {
        --open;
      }
    }
    return micros;
  }

  const Target& target_;
  std::shared_ptr<::grpc::Channel> channel_;
  std::unique_ptr<::grpc::GenericStub> stub_;
  ::grpc::CompletionQueue queue_;
  ::grpc::ByteBuffer message_;
  int failures_ = 0;
};

// As an autoscaler sends it: with the labels and annotations of an ordinary node.
std::string NodeRequest(const std::string& id) {
  pb::NodeGroupForNodeRequest request;
  auto* node = request.mutable_node();
  node->set_providerid(id);
  node->set_name("group-7-7");
  for (const char* label :
       {"beta.kubernetes.io/arch", "beta.kubernetes.io/os", "kubernetes.io/arch",
        "kubernetes.io/hostname", "kubernetes.io/os", "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region", "topology.kubernetes.io/zone"}) {
    (*node->mutable_labels())[label] = "a-value";
  }
  (*node->mutable_annotations())["node.alpha.kubernetes.io/ttl"] = "0";
  (*node->mutable_annotations())["volumes.kubernetes.io/controller-managed-attach-detach"] = "true";
  return request.SerializeAsString();
}

std::vector<std::pair<std::string, std::string>> Requests(const std::string& node,
                                                          const std::string& group) {
  pb::NodeGroupTargetSizeRequest by_id;
  by_id.set_id(group);
  const std::string id = by_id.SerializeAsString();
  pb::NodeGroupAutoscalingOptionsRequest options;
  options.set_id(group);
  options.mutable_defaults()->set_scaledownutilizationthreshold(0.5);
  options.mutable_defaults()->mutable_scaledownunneededduration()->set_seconds(600);
  options.mutable_defaults()->mutable_scaledownunreadyduration()->set_seconds(1'200);
  options.mutable_defaults()->mutable_maxnodeprovisionduration()->set_seconds(900);
  return {{"NodeGroupForNode", NodeRequest(node)},
          {"NodeGroups", ""},
          {"NodeGroupTargetSize", id},
          {"NodeGroupNodes", id},
          {"NodeGroupTemplateNodeInfo", id},
          {"NodeGroupGetOptions", options.SerializeAsString()},
          {"GPULabel", ""},
          {"GetAvailableGPUTypes", ""},
          {"Refresh", ""}};
}

// What tools/bench asks every program: the names, or the rows as JSON (google-benchmark's form).
enum class Output { kTable, kNames, kJson };

constexpr int kInFlight[] = {1, 64};

std::string NameOf(const std::string& method, int in_flight) {
  return "Provider/" + method + "/in_flight:" + std::to_string(in_flight);
}

bool Skipped(const std::string& method, int in_flight) {
  return method == "Refresh" && in_flight > 1;
}

void PrintRow(const std::string& method, int in_flight, const Row& row, Output output, bool first) {
  if (output == Output::kJson) {
    const std::string name = NameOf(method, in_flight);
    std::printf(
        "%s{\"name\":\"%s\",\"run_name\":\"%s\",\"run_type\":\"iteration\",\"real_time\":%.3f,"
        "\"cpu_time\":%.3f,"
        "\"time_unit\":\"us\",\"items_per_second\":%.0f}",
        first ? "" : ",\n", name.c_str(), name.c_str(), row.p50_micros, row.cpu_micros,
        row.calls_per_second);
  } else {
    std::printf("%-28s %9d %10.0f %9.0f %9.0f %12.1f%s\n", method.c_str(), in_flight,
                row.calls_per_second, row.p50_micros, row.p99_micros, row.cpu_micros,
                row.failures == 0 ? "" : "  FAILED CALLS");
  }
  std::fflush(stdout);
}

void MeasureAll(const Target& target, double seconds, Output output) {
  Client client(target);
  if (output == Output::kJson) {
    std::printf("{\"benchmarks\":[\n");
  } else {
    std::printf("%-28s %9s %10s %9s %9s %12s\n", "method", "in flight", "calls/s", "p50 us",
                "p99 us", "cpu us/call");
  }
  bool first = true;
  for (const auto& [method, request] : Requests(target.node, target.group)) {
    for (const int in_flight : kInFlight) {
      if (Skipped(method, in_flight)) continue;
      PrintRow(method, in_flight, client.Measure(method, request, in_flight, seconds), output,
               first);
      first = false;
    }
  }
  if (output == Output::kJson) {
    std::printf("]}\n");
  } else {
    std::printf("server memory: %.1f MB\n", RssMegabytes(target.pid));
  }
}

void PrintNames() {
  for (const auto& [method, request] : Requests("", "")) {
    for (const int in_flight : kInFlight) {
      if (!Skipped(method, in_flight)) std::printf("%s\n", NameOf(method, in_flight).c_str());
    }
  }
}

std::string Slurp(const char* path) {
  std::ifstream in(path);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

int Main(int argc, char** argv) {
  Output output = Output::kTable;
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    if (argument.rfind("--benchmark_list_tests", 0) == 0) output = Output::kNames;
    if (argument == "--benchmark_format=json") output = Output::kJson;
  }
  if (output == Output::kNames) {
    PrintNames();
    return 0;
  }
  const double seconds = output == Output::kJson ? 1 : argc > 1 ? std::atof(argv[1]) : 3;
  if (argc == 9) {
    MeasureAll({argv[2], Slurp(argv[3]), Slurp(argv[4]), Slurp(argv[5]), std::atoi(argv[6]),
                argv[7], argv[8]},
               seconds, output);
    return 0;
  }
  const test::TempDirectory dir;
  const test::TestAuthority authority;
  const test::PemPair server = authority.Issue("server", {"localhost"});
  const test::PemPair client = authority.Issue("client", {"autoscaler"});
  dir.Write("server.crt", server.cert);
  dir.Write("server.key", server.key);
  dir.Write("ca.crt", authority.pem());
  int pipe_ends[2];
  if (pipe(pipe_ends) != 0) return 1;
  const pid_t pid = fork();  // before the library has started a thread
  if (pid == 0) Serve(dir, pipe_ends[1]);
  char line[256] = {};
  if (read(pipe_ends[0], line, sizeof line - 1) <= 0) return 1;
  const std::string text(line);
  const size_t space = text.find(' ');
  if (output == Output::kTable)
    std::printf("%d machines in %d groups, mutual TLS, one connection\n", kMachines, kGroups);
  MeasureAll({"127.0.0.1:" + text.substr(0, space), client.cert, client.key, authority.pem(), pid,
              text.substr(space + 1, text.size() - space - 2)},
             seconds, output);
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
  return 0;
}

}  // namespace
}  // namespace coppice

int main(int argc, char** argv) {
#if defined(COPPICE_MIMALLOC)
  mi_option_set_default(mi_option_decommit_delay, 0);  // as src/app/main.cc
#endif
  return coppice::Main(argc, argv);
}
