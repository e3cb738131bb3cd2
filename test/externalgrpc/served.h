// Any NodeGroups behind our own server on loopback with mutual TLS, and the client that reads them
// there, opened as the program opens it: by name, from a cloud-config file.

#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "base/pool.h"
#include "cloud/node_groups_context.h"
#include "grpc/server.h"
#include "plugins/node_groups/externalgrpc/client.h"
#include "rpc/node_group_server.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::node_groups::externalgrpc {
void Register(cloud::NodeGroupsRegistry& registry);
}  // namespace coppice::node_groups::externalgrpc

namespace coppice::test {

// Certificates of both sides, one authority.
class Credentials {
 public:
  Credentials() { Issue(); }
  void Issue(const std::string& client_name = "autoscaler") {
    Write("server", authority_.Issue("provider", {"localhost", "127.0.0.1"}));
    Write("client", authority_.Issue(client_name, {client_name}));
    dir_.Write("ca.crt", authority_.pem());
  }
  std::shared_ptr<grpc::CertificateStore> ServerStore(const Log& log) const {
    return MUST(grpc::CertificateStore::Open({.cert_file = dir_.At("server.crt"),
                                              .key_file = dir_.At("server.key"),
                                              .ca_file = dir_.At("ca.crt")},
                                             log));
  }
  // A cloud-config file for `address`, with `more` lines.
  std::string CloudConfig(const std::string& address, const std::string& more = "",
                          const std::string& name = "cloud-config.yaml") const {
    return dir_.Write(name, "address: " + address + "\nkey: " + dir_.At("client.key") +
                                "\ncert: " + dir_.At("client.crt") +
                                "\ncacert: " + dir_.At("ca.crt") + "\n" + more);
  }
  const TempDirectory& dir() const { return dir_; }

 private:
  void Write(const std::string& name, const PemPair& pair) {
    dir_.Write(name + ".crt", pair.cert);
    dir_.Write(name + ".key", pair.key);
  }
  TestAuthority authority_;
  TempDirectory dir_;
};

// `clock` is the served side's; the client's is real.
class ServedGroups {
 public:
  ServedGroups(cloud::NodeGroups& groups, const Clock& clock, std::string more = "", int port = 0) {
    std::vector<grpc::Service> services;
    services.push_back(rpc::NodeGroupService(groups));
    Start(std::move(services), clock, port);
    client = Open(more);
  }
  ServedGroups(grpc::Service service, const Clock& clock, std::string more = "") {
    std::vector<grpc::Service> services;
    services.push_back(std::move(service));
    Start(std::move(services), clock, 0);
    client = Open(more);
  }

  void Start(std::vector<grpc::Service> services, const Clock& clock, int port) {
    for (grpc::Service& service : services) {
      for (grpc::Method& method : service.methods) {
        method.handler = [this, handler = std::move(method.handler)](const grpc::Call& call) {
          ++calls;
          return handler(call);
        };
      }
    }
    server = MUST(grpc::Server::Start({.listen = "127.0.0.1:" + std::to_string(port),
                                       .certificates = credentials.ServerStore(log)},
                                      std::move(services), workers, clock, log));
  }
  std::string address() const { return "127.0.0.1:" + std::to_string(server->port()); }
  std::unique_ptr<cloud::NodeGroups> Open(const std::string& more = "") {
    cloud::NodeGroupsRegistry registry("node group provider");
    node_groups::externalgrpc::Register(registry);
    return MUST(registry.Make(
        "externalgrpc",
        cloud::NodeGroupsContext{.clock = real_clock,
                                 .log = log,
                                 .metrics = metrics,
                                 .cloud_config = credentials.CloudConfig(address(), more)}));
  }

  SystemClock real_clock;
  Log log = Log::Null();
  Metrics metrics;
  Credentials credentials;
  std::atomic<int> calls{0};  // that have reached the server
  Pool workers{8, 1'000};
  std::unique_ptr<grpc::Server> server;
  std::unique_ptr<cloud::NodeGroups> client;
};

}  // namespace coppice::test
