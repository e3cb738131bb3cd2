#include "kube/events.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "wire/time_text.h"

namespace coppice::kube {
namespace {

using Json = nlohmann::json;

constexpr std::string_view kComponent = "cluster-autoscaler";
// client-go's aggregation, upstream's spam filter.
constexpr size_t kMaxSimilar = 10;
constexpr Duration kSimilarWindow = std::chrono::minutes(10);
constexpr double kTokensPerSecond = 1.0 / 300;
constexpr double kBurst = 1;
constexpr double kBurstOfDuplicates = 25;
constexpr int kSortedAtOnce = 500;
constexpr size_t kMaxTextBytes = 1024;  // the API server refuses longer ones

std::string ObjectKey(const cluster::Event& event) {
  return event.kind + "\n" + event.namespace_ + "\n" + event.name + "\n" + event.uid;
}

// At most `limit` bytes, and not in the middle of a character.
std::string Shortened(std::string text, size_t limit) {
  if (text.size() <= limit) return text;
  size_t end = limit - 3;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return text.substr(0, end) + "...";
}

std::string NamespaceOf(const cluster::Event& event) {
  return event.namespace_.empty() ? "default" : event.namespace_;
}

}  // namespace

bool EventCorrelator::Allowed(const cluster::Event& event, TimePoint now) {
  std::string key = ObjectKey(event);
  if (!duplicates_) {
    key += "\n" + event.reason;
    // The status map is where all is told: there only the same text is the same thing.
    if (event.kind == "ConfigMap") key += "\n" + event.text;
  }
  const double burst = duplicates_ ? kBurstOfDuplicates : kBurst;
  Tokens& tokens = tokens_[key];
  if (!tokens.filled) {
    tokens.left = burst;
  } else {
    const double seconds = std::chrono::duration<double>(now - *tokens.filled).count();
    tokens.left = std::min(burst, tokens.left + seconds * kTokensPerSecond);
  }
  tokens.filled = now;
  if (tokens.left < 1) return false;
  tokens.left -= 1;
  return true;
}

std::optional<EventRecord> EventCorrelator::Correlate(const cluster::Event& event, TimePoint now) {
  EventRecord record{.event = event, .name = {}, .count = 1, .first = now, .last = now};
  record.event.text = Shortened(std::move(record.event.text), kMaxTextBytes);
  const std::string group = ObjectKey(event) + "\n" + event.type + "\n" + event.reason;
  std::string key = group + "\n" + record.event.text;

  Similar& similar = similar_[group];
  if (now - similar.last > kSimilarWindow) similar.texts.clear();
  similar.last = now;
  similar.texts.insert(record.event.text);
  if (similar.texts.size() >= kMaxSimilar) {
    similar.texts.erase(similar.texts.begin());  // room for the next one
    key = group;
    record.event.text =
        Shortened("(combined from similar events): " + record.event.text, kMaxTextBytes);
  }

  Said& said = said_[key];
  if (said.count == 0) {
    const auto nanos = static_cast<uint64_t>(now.time_since_epoch().count());
    said.name = fmt::format("{}.{:x}", event.name, nanos);
    said.first = now;
  }
  record.count = ++said.count;
  record.name = said.name;
  record.first = said.first;
  // Counted even when it is not told, as client-go does.
  if (!Allowed(event, now)) return std::nullopt;
  return record;
}

std::string EventAsJson(const EventRecord& record) {
  const cluster::Event& event = record.event;
  Json involved = {{"kind", event.kind}, {"name", event.name}, {"apiVersion", "v1"}};
  if (!event.namespace_.empty()) involved["namespace"] = event.namespace_;
  if (!event.uid.empty()) involved["uid"] = event.uid;
  const Json json = {{"apiVersion", "v1"},
                     {"kind", "Event"},
                     {"metadata", {{"name", record.name}, {"namespace", NamespaceOf(event)}}},
                     {"involvedObject", involved},
                     {"reason", event.reason},
                     {"message", event.text},
                     {"source", {{"component", kComponent}}},
                     {"firstTimestamp", wire::FormatRfc3339(record.first)},
                     {"lastTimestamp", wire::FormatRfc3339(record.last)},
                     {"count", record.count},
                     {"type", event.type},
                     {"eventTime", nullptr},
                     {"reportingComponent", kComponent},
                     {"reportingInstance", ""}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string EventAsPatch(const EventRecord& record) {
  const Json json = {{"count", record.count},
                     {"lastTimestamp", wire::FormatRfc3339(record.last)},
                     {"message", record.event.text}};
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

EventSender::EventSender(Client& client, const Log& log, RateLimit limit, bool duplicates)
    : client_(client), log_(log), limit_(limit), correlator_(duplicates) {}

void EventSender::Emit(cluster::Event event) {
  said_.push_back({.at = client_.executor().clock().Now(), .event = std::move(event)});
}

void EventSender::EmitAboutPods(std::vector<cluster::LivePod> pods, cluster::Event what) {
  if (pods.empty()) return;
  what.kind = "Pod";
  said_.push_back(
      {.at = client_.executor().clock().Now(), .event = std::move(what), .pods = std::move(pods)});
}

cluster::Event EventSender::Next(Said& said) {
  if (said.pods.empty()) return std::move(said.event);
  const model::ObjectMeta& pod = said.pods[said.next++]->metadata;
  cluster::Event event = said.event;
  event.namespace_ = pod.namespace_;
  event.name = pod.name;
  event.uid = pod.uid;
  return event;
}

bool EventSender::SortSome() {
  for (int i = 0; i < kSortedAtOnce && !said_.empty(); ++i) {
    Said& said = said_.front();
    const cluster::Event event = Next(said);
    auto record = correlator_.Correlate(event, said.at);
    if (said.next >= said.pods.size()) said_.pop_front();
    if (!record) continue;
    log_.Debug("event", {{"kind", event.kind},
                         {"object", event.namespace_.empty() ? event.name
                                                             : event.namespace_ + "/" + event.name},
                         {"type", event.type},
                         {"reason", event.reason},
                         {"text", event.text}});
    if (queue_.size() >= kMaxQueued) {
      ++dropped_;
    } else {
      queue_.push_back(*std::move(record));
    }
  }
  return said_.empty();
}

Task<void> EventSender::Write(EventRecord record) {
  const std::string path = "/api/v1/namespaces/" + NamespaceOf(record.event) + "/events";
  const Deadline deadline = Deadline::In(client_.executor().clock(), std::chrono::seconds(30));
  Request request;
  request.limited = false;
  request.guard = guard;
  // The name is fixed: written twice, the second is refused as already there.
  request.repeatable = true;
  request.timeout = std::chrono::seconds(10);
  if (record.count > 1) {
    Request patch = request;
    patch.method = "PATCH";
    patch.path = path + "/" + net::PercentEncode(record.name);
    patch.content_type = "application/strategic-merge-patch+json";
    patch.body = EventAsPatch(record);
    const auto patched = co_await client_.Send(std::move(patch), deadline);
    // The server keeps events for an hour: what is gone is written anew.
    if (!patched.ok() || patched->status != 404) {
      if (!patched.ok() || !patched->Success()) ++dropped_;
      co_return;
    }
  }
  request.method = "POST";
  request.path = path;
  request.body = EventAsJson(record);
  const auto created = co_await client_.Send(std::move(request), deadline);
  if (created.ok() && (created->Success() || created->status == 409)) co_return;
  ++dropped_;
  const Status why = created.ok() ? created->Error().ToStatus() : created.status();
  log_.Warning("an event could not be written", {{"reason", record.event.reason}, {"error", why}});
}

Task<void> EventSender::Run() {
  while (true) {
    // A burst is tens of thousands of pods, some microseconds each: in pieces, and not in the pass.
    while (!SortSome()) co_await client_.executor().Sleep(Duration::zero());
    if (!queue_.empty()) {
      writing_ = true;
      EventRecord record = std::move(queue_.front());
      queue_.pop_front();
      co_await limit_.Take();
      co_await Write(std::move(record));
      writing_ = false;
      continue;
    }
    co_await client_.executor().Sleep(std::chrono::milliseconds(100));
  }
}

Task<void> EventSender::Flush(Deadline deadline) {
  while ((writing_ || !said_.empty() || !queue_.empty()) &&
         !deadline.Passed(client_.executor().clock()))
    co_await client_.executor().Sleep(std::chrono::milliseconds(20));
}

}  // namespace coppice::kube
