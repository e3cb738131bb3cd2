// ApiClient: requests of a test to an API server, one after the other. Much lighter than a kubectl
// per question, which would take from the very cores that are measured.

#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace coppice::test {

class ApiClient {
 public:
  explicit ApiClient(const std::string& kubeconfig);
  ~ApiClient();
  ApiClient(const ApiClient&) = delete;
  ApiClient& operator=(const ApiClient&) = delete;

  struct Answer {
    int status = 0;  // 0: none came
    nlohmann::json body;
    bool ok() const { return status >= 200 && status < 300; }
  };
  // `path` may carry a query.
  Answer Send(const std::string& method, const std::string& path, const nlohmann::json& body = {});
  // The items of a list; empty when there is no answer.
  nlohmann::json List(const std::string& path);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace coppice::test
