#include "grpc/interceptors.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <memory>
#include <utility>
#include <vector>

namespace coppice::grpc {
namespace {

constexpr size_t kCodes = 17;

// 1 ms to 10 s as the Go provider has them, and below, where our reads are.
const std::vector<double>& DurationBuckets() {
  static const std::vector<double> buckets{0.00001, 0.00005, 0.0001, 0.0005, 0.001, 0.005,
                                           0.01,    0.025,   0.05,   0.1,    0.25,  0.5,
                                           1,       2.5,     5,      10};
  return buckets;
}

double Seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// Counters of one method by status code, made when a code first occurs: looking one up costs more
// than the call itself.
class MethodMetrics {
 public:
  MethodMetrics(std::string path, const InterceptorOptions& options)
      : path_(std::move(path)),
        metrics_(options.metrics),
        name_(options.metric_prefix + "grpc_requests_total"),
        duration_(
            options.metrics.GetHistogram(options.metric_prefix + "grpc_request_duration_seconds",
                                         "Time from the request's arrival to its answer.",
                                         DurationBuckets(), {{"method", path_}})) {}

  void Count(Code code, Duration took) {
    const auto index = std::min(static_cast<size_t>(code), kCodes - 1);
    Counter* counter = counters_[index].load(std::memory_order_acquire);
    if (counter == nullptr) {
      counter = &metrics_.GetCounter(name_, "Answered calls by method and status code.",
                                     {{"method", path_}, {"code", std::string(ToString(code))}});
      counters_[index].store(counter, std::memory_order_release);
    }
    counter->Increment();
    duration_.Observe(Seconds(took));
  }

 private:
  const std::string path_;
  Metrics& metrics_;
  const std::string name_;
  Histogram& duration_;
  std::array<std::atomic<Counter*>, kCodes> counters_{};
};

}  // namespace

// Errors are the caller's to act on and ours to see, once. A method that is not offered is asked
// for every loop and is no news.
Handler WithLogging(Handler next, std::string path, const InterceptorOptions& options) {
  return [next = std::move(next), path = std::move(path), &log = options.log,
          &clock = options.clock](const Call& call) {
    const bool detailed = log.Enabled(LogLevel::kDebug);
    const TimePoint start = detailed ? clock.Now() : TimePoint();
    Answer answer = next(call);
    if (!answer.status.ok() && answer.status.code() != Code::kUnimplemented) {
      log.Warning("call failed", {{"method", path},
                                  {"code", ToString(answer.status.code())},
                                  {"error", answer.status.message()},
                                  {"caller", Describe(call.caller)}});
    } else if (detailed) {
      log.Debug("call answered", {{"method", path},
                                  {"code", ToString(answer.status.code())},
                                  {"bytes", answer.bytes.view().size()},
                                  {"seconds", clock.Now() - start}});
    }
    return answer;
  };
}

Handler WithMetrics(Handler next, std::string path, const InterceptorOptions& options) {
  auto metrics = std::make_shared<MethodMetrics>(std::move(path), options);
  return [next = std::move(next), metrics = std::move(metrics),
          &clock = options.clock](const Call& call) {
    const TimePoint start = clock.Now();
    Answer answer = next(call);
    metrics->Count(answer.status.code(), clock.Now() - start);
    return answer;
  };
}

Handler WithRecovery(Handler next, std::string path, const InterceptorOptions& options) {
  return [next = std::move(next), path = std::move(path),
          &log = options.log](const Call& call) -> Answer {
    const auto crashed = [&](std::string_view what) {
      log.Error("handler crashed",
                {{"method", path}, {"what", what}, {"request_bytes", call.request.size()}});
      // The text stays in our log: it may hold what the caller should not see.
      return Internal(path + " crashed in the provider; see its log");
    };
    try {
      return next(call);
    } catch (const std::exception& error) {
      return crashed(error.what());
    } catch (...) {
      return crashed("not a std::exception");
    }
  };
}

Service Intercept(Service service, const InterceptorOptions& options) {
  for (Method& method : service.methods) {
    const std::string path = service.PathOf(method);
    Handler handler = std::move(method.handler);
    // From the inside out. A crash becomes an answer first, so that the links around it count it
    // and log it as they do any other failure; the other way round it would be invisible to both.
    handler = WithRecovery(std::move(handler), path, options);
    handler = WithMetrics(std::move(handler), path, options);
    handler = WithLogging(std::move(handler), path, options);
    method.handler = std::move(handler);
  }
  return service;
}

}  // namespace coppice::grpc
