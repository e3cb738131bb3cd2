#include "plugins/batch/usage/source.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "net/http_client.h"

namespace coppice::batch::usage {
namespace {

using Json = nlohmann::json;

constexpr Duration kQueryLimit = std::chrono::seconds(30);
constexpr std::string_view kCpuQuery =
    "avg_over_time(clamp_min(100 - 100 * avg by (instance) "
    "(rate(node_cpu_seconds_total{mode=\"idle\"}[5m])), 0)[10m:30s])";
constexpr std::string_view kMemoryQuery =
    "100 * avg_over_time((1 - node_memory_MemAvailable_bytes / node_memory_MemTotal_bytes)"
    "[10m:30s])";

std::string Escaped(std::string_view text) {
  constexpr std::string_view kHex = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      out += c;
    } else {
      out += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return out;
}

std::optional<double> NumberIn(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

Result<std::map<std::string, double>> Ask(net::HttpClient& client, const Clock& clock,
                                          const std::string& address, std::string_view query) {
  net::HttpRequest request{.method = "POST", .url = address + "/api/v1/query"};
  request.headers.emplace_back("Content-Type", "application/x-www-form-urlencoded");
  request.body = "query=" + Escaped(query);
  const auto response = TRY(client.Send(request, Deadline::In(clock, kQueryLimit)));
  if (!response.Success()) {
    return Unavailable("Prometheus at " + address + " answered " + std::to_string(response.status));
  }
  return ReadVector(response.body);
}

}  // namespace

Result<std::map<std::string, double>> ReadVector(std::string_view answer) {
  const Json json = Json::parse(answer, nullptr, false);
  if (!json.is_object() || json.value("status", Json()) != "success" || !json.contains("data")) {
    return InvalidArgument("the answer is not that of a query to Prometheus");
  }
  const Json& data = json.at("data");
  const bool vector = data.is_object() && data.value("resultType", Json()) == "vector" &&
                      data.contains("result") && data.at("result").is_array();
  if (!vector) return InvalidArgument("Prometheus' answer is not a vector");
  std::map<std::string, double> values;
  for (const Json& entry : data.at("result")) {
    if (!entry.is_object() || !entry.contains("metric") || !entry.contains("value")) continue;
    const Json& metric = entry.at("metric");
    const Json& value = entry.at("value");
    if (!metric.is_object() || !value.is_array() || value.size() != 2) continue;
    const auto instance = metric.find("instance");
    if (instance == metric.end() || !instance->is_string() || !value[1].is_string()) continue;
    if (const auto number = NumberIn(value[1].get<std::string>())) {
      values[instance->get<std::string>()] = *number;
    }
  }
  return values;
}

Result<Fetch> FromPrometheus(const std::string& address, const std::string& ca_file) {
  if (address.empty()) return InvalidArgument("metrics: address is missing");
  static const SystemClock kClock;
  net::HttpClientOptions options{.ca_file = ca_file, .request_timeout = kQueryLimit};
  std::shared_ptr<net::HttpClient> client = TRY(net::MakeHttpClient(std::move(options), kClock));
  std::string trimmed = address;
  while (trimmed.ends_with('/')) trimmed.pop_back();
  return Fetch([client, trimmed]() -> Result<std::map<std::string, Load, std::less<>>> {
    std::map<std::string, Load, std::less<>> loads;
    for (const auto& [node, cpu] : TRY(Ask(*client, kClock, trimmed, kCpuQuery))) {
      loads[node].cpu = cpu;
    }
    for (const auto& [node, memory] : TRY(Ask(*client, kClock, trimmed, kMemoryQuery))) {
      loads[node].memory = memory;
    }
    return loads;
  });
}

Source::Source(Fetch fetch, std::shared_ptr<Workers> workers) : workers_(std::move(workers)) {
  state_->fetch = std::move(fetch);
}

std::shared_ptr<const Samples> Source::Latest(TimePoint now, Duration interval) {
  {
    const std::lock_guard lock(state_->mutex);
    const bool due = !state_->asked || now >= Later(*state_->asked, interval);
    if (!due || state_->under_way) return state_->samples;
    state_->asked = now;
    state_->under_way = true;
  }
  const auto fetch = [state = state_, now] {
    auto loads = state->fetch();
    const std::lock_guard lock(state->mutex);
    state->under_way = false;
    state->last_error = loads.ok() ? Status::Ok() : loads.status();
    if (!loads.ok()) return;
    state->samples = std::make_shared<const Samples>(Samples{now, std::move(*loads)});
  };
  const Status submitted = workers_->Submit(fetch);
  const std::lock_guard lock(state_->mutex);
  if (!submitted.ok()) {
    state_->under_way = false;
    state_->last_error = submitted;
  }
  return state_->samples;
}

Status Source::last_error() const {
  const std::lock_guard lock(state_->mutex);
  return state_->last_error;
}

}  // namespace coppice::batch::usage
