// What the tests of this folder have in common: a fake API server, and our client on it.

#pragma once

#include "base/rng.h"
#include "kube/client.h"
#include "test/support/fake_api_server.h"

namespace coppice::kube {

struct TestRig {
  explicit TestRig(bool can_stream = true, double qps = 0) : server(can_stream) {
    ConnectionConfig config;
    config.server = server.url();
    credentials = std::make_unique<Credentials>(
        Credentials::Parts{.config = config, .executor = executor, .workers = workers});
    ClientOptions options{.server = server.url(), .qps = qps};
    options.backoff.first = std::chrono::milliseconds(5);
    options.backoff.longest = std::chrono::milliseconds(20);
    options.failed = [this](const FailedRequest& one) {
      failed.push_back(std::string(one.method) + " " + std::string(one.path) + " " +
                       std::to_string(one.status));
    };
    client = std::make_unique<Client>(options, *transport, *credentials, executor, rng);
  }

  // Serves the executor until `done` or five seconds have passed; whether it came true.
  bool Until(const std::function<bool()>& done) {
    for (int i = 0; i < 1'000 && !done(); ++i) executor.RunFor(std::chrono::milliseconds(5));
    return done();
  }

  SystemClock clock;
  Executor executor{clock};
  InlineWorkers workers;
  SeededRng rng{1};
  Log log = Log::Null();
  std::vector<std::string> failed;  // requests
  test::FakeApiServer server;
  std::unique_ptr<net::MultiClient> transport = test::MustValue(net::MultiClient::Create({}));
  std::unique_ptr<Credentials> credentials;
  std::unique_ptr<Client> client;
};

}  // namespace coppice::kube
