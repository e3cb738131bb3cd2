#include "test/e2e/api_client.h"

#include "base/rng.h"
#include "kube/client.h"
#include "test/support/must.h"

namespace coppice::test {

struct ApiClient::State {
  SystemClock clock;
  InlineWorkers workers;
  SeededRng rng{1};
  std::unique_ptr<Executor> executor = std::make_unique<Executor>(clock);
  std::unique_ptr<kube::Credentials> credentials;
  std::unique_ptr<kube::Client> client;
  std::unique_ptr<net::MultiClient> transport;  // its thread ends first
};

ApiClient::ApiClient(const std::string& kubeconfig) : state_(std::make_unique<State>()) {
  const auto config = MustValue(kube::LoadKubeconfig(kubeconfig));
  state_->transport = MustValue(net::MultiClient::Create({}));
  state_->credentials = std::make_unique<kube::Credentials>(kube::Credentials::Parts{
      .config = config, .executor = *state_->executor, .workers = state_->workers});
  kube::ClientOptions options;
  options.server = config.server;
  options.qps = 0;
  options.max_attempts = 1;  // a test asks again by itself
  state_->client = std::make_unique<kube::Client>(options, *state_->transport, *state_->credentials,
                                                  *state_->executor, state_->rng);
}

ApiClient::~ApiClient() = default;

ApiClient::Answer ApiClient::Send(const std::string& method, const std::string& path,
                                  const nlohmann::json& body) {
  kube::Request request;
  request.method = method;
  request.path = path;
  if (!body.is_null()) request.body = body.dump();
  const Deadline soon = Deadline::In(state_->clock, std::chrono::seconds(30));
  const auto answer = state_->executor->BlockOn(state_->client->Send(std::move(request), soon));
  if (!answer.ok()) return {0, answer.status().ToString()};
  return {answer->status, nlohmann::json::parse(answer->body, nullptr, false)};
}

nlohmann::json ApiClient::List(const std::string& path) {
  const Answer answer = Send("GET", path);
  return answer.ok() && answer.body.contains("items") ? answer.body["items"]
                                                      : nlohmann::json::array();
}

}  // namespace coppice::test
