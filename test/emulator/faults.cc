#include "test/emulator/faults.h"

#include <nlohmann/json.hpp>

namespace coppice::emulator {

using Json = nlohmann::json;

Json FaultsToJson(const Faults& f) {
  const auto millis = [](Duration d) {
    return std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
  };
  return {{"latency", millis(f.latency)},
          {"create_latency", millis(f.create_latency)},
          {"too_many_requests", f.too_many_requests},
          {"retry_after_seconds", f.retry_after_seconds},
          {"server_errors", f.server_errors},
          {"html_errors", f.html_errors},
          {"truncated_answers", f.truncated_answers},
          {"closed_creates", f.closed_creates},
          {"hung_creates", f.hung_creates},
          {"failed_creates", f.failed_creates},
          {"list_lag_after_create", millis(f.list_lag_after_create)},
          {"list_lag_after_delete", millis(f.list_lag_after_delete)},
          {"server_quota", f.server_quota},
          {"refuse_duplicate_names", f.refuse_duplicate_names},
          {"only", f.only}};
}

Faults FaultsFromJson(const Json& all) {
  const auto millis = [&all](const char* key) {
    return Duration(std::chrono::milliseconds(all.at(key).get<int64_t>()));
  };
  return {.latency = millis("latency"),
          .create_latency = millis("create_latency"),
          .too_many_requests = all.at("too_many_requests").get<int>(),
          .retry_after_seconds = all.at("retry_after_seconds").get<int>(),
          .server_errors = all.at("server_errors").get<int>(),
          .html_errors = all.at("html_errors").get<int>(),
          .truncated_answers = all.at("truncated_answers").get<int>(),
          .closed_creates = all.at("closed_creates").get<int>(),
          .hung_creates = all.at("hung_creates").get<int>(),
          .failed_creates = all.at("failed_creates").get<int>(),
          .list_lag_after_create = millis("list_lag_after_create"),
          .list_lag_after_delete = millis("list_lag_after_delete"),
          .server_quota = all.at("server_quota").get<int>(),
          .refuse_duplicate_names = all.at("refuse_duplicate_names").get<bool>(),
          .only = all.at("only").get<std::string>()};
}

}  // namespace coppice::emulator
