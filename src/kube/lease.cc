#include "kube/lease.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "wire/time_text.h"

namespace coppice::kube {
namespace {

using Json = nlohmann::json;

// A write is to be over this long before the lease is: the clocks of others run differently.
constexpr Duration kMargin = std::chrono::seconds(1);
constexpr Duration kReleaseTimeout = std::chrono::seconds(3);
constexpr Duration kReleasePoll = std::chrono::milliseconds(2);

std::string LeaseText(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : "";
}

int64_t Number(const Json& object, const char* key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer() ? it->get<int64_t>() : 0;
}

Json Object(const Json& parent, const char* key) {
  const auto it = parent.find(key);
  return it != parent.end() && it->is_object() ? *it : Json::object();
}

}  // namespace

LeaderLease::LeaderLease(LeaseOptions options, Client& client, const Log& log)
    : options_(std::move(options)),
      client_(client),
      log_(log),
      path_("/apis/coordination.k8s.io/v1/namespaces/" + options_.namespace_ + "/leases") {}

Status LeaderLease::MayWrite() const {
  if (leads()) return Status::Ok();
  return FailedPrecondition("we do not hold the lease " + options_.namespace_ + "/" +
                            options_.name);
}

Deadline LeaderLease::Within(Deadline deadline) const {
  const Duration left = Duration(ours_until_.load()) - options_.since_boot();
  return deadline.Earlier({client_.executor().clock().Now() + left});
}

LeaseRecord ReadLease(std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) return {};
  const Json spec = Object(json, "spec");
  return {LeaseText(spec, "holderIdentity"), Number(spec, "leaseDurationSeconds"),
          LeaseText(spec, "acquireTime"), LeaseText(spec, "renewTime"),
          Number(spec, "leaseTransitions")};
}

std::string WriteLease(std::string_view text, const LeaseRecord& record,
                       const std::string& namespace_, const std::string& name) {
  Json json = Json::parse(text, nullptr, false);
  if (!json.is_object()) {
    json = {{"apiVersion", "coordination.k8s.io/v1"},
            {"kind", "Lease"},
            {"metadata", {{"name", name}, {"namespace", namespace_}}}};
  }
  Json& spec = json["spec"];
  if (!spec.is_object()) spec = Json::object();
  spec["holderIdentity"] = record.holder;
  spec["leaseDurationSeconds"] = record.duration_seconds;
  spec["acquireTime"] = record.acquire_time;
  spec["renewTime"] = record.renew_time;
  spec["leaseTransitions"] = record.transitions;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

void LeaderLease::See(std::string_view body) {
  raw_ = body;
  const LeaseRecord record = ReadLease(body);
  if (record == seen_) return;
  seen_ = record;
  seen_at_ = client_.executor().clock().Now();
}

Request LeaderLease::PutRequest(const LeaseRecord& record) const {
  const bool create = raw_.empty();
  Request request;
  request.method = create ? "POST" : "PUT";
  request.path = create ? path_ : path_ + "/" + options_.name;
  request.body = WriteLease(raw_, record, options_.namespace_, options_.name);
  request.limited = false;
  request.repeatable = false;  // rounds repeat it, with what they have seen since
  return request;
}

Task<Result<bool>> LeaderLease::Write(Request request, LeaseRecord record, Duration began) {
  if (released_ && !record.holder.empty()) co_return false;
  const Deadline deadline = Deadline::In(client_.executor().clock(), request.timeout);
  const bool create = request.method == "POST";
  writing_ = true;
  const Result<Answer> sent = co_await client_.Send(std::move(request), deadline);
  writing_ = false;
  if (!sent.ok()) co_return sent.status();
  const Answer& answer = *sent;
  if (create && answer.status == 404) {
    co_return NotFound("the namespace '" + options_.namespace_ +
                       "' of the lease does not exist; create it (kubectl create namespace " +
                       options_.namespace_ + "), or name another one");
  }
  // Somebody was faster, or we were, unheard. The next read tells.
  if (answer.status == 409 || answer.status == 404) {
    raw_.clear();
    co_return false;
  }
  if (!answer.Success()) co_return answer.Error().ToStatus();
  See(answer.body);
  // Not what the answer says: what we asked for, counted from before we asked.
  if (record.holder == options_.identity && !released_)
    ours_until_ = (began + std::chrono::seconds(record.duration_seconds) - kMargin).count();
  co_return true;
}

Task<Result<bool>> LeaderLease::TryOnce(Duration timeout) {
  const TimePoint end = client_.executor().clock().Now() + timeout;
  // While we lead, nobody else writes it: the read is saved.
  const bool renewing = leads() && seen_.holder == options_.identity && !raw_.empty();
  const Result<bool> got = co_await ReadAndWrite(timeout, /*read=*/!renewing);
  if (!renewing || !got.ok() || *got || released_) co_return got;
  // The version that we knew is not the server's any more. Most likely it is our own renewal whose
  // answer was lost: now, not in the next round, which may be too late for the lease.
  const Duration left = end - client_.executor().clock().Now();
  if (left <= Duration::zero()) co_return got;
  co_return co_await ReadAndWrite(left, /*read=*/true);
}

Task<Result<bool>> LeaderLease::ReadAndWrite(Duration timeout, bool read) {
  const Duration began = options_.since_boot();
  if (read) {
    Request get;
    get.path = path_ + "/" + options_.name;
    get.limited = false;
    get.repeatable = false;
    get.timeout = timeout;
    const Deadline deadline = Deadline::In(client_.executor().clock(), timeout);
    CO_TRY(const Answer answer, co_await client_.Send(std::move(get), deadline));
    if (answer.status == 404) {
      raw_.clear();
    } else if (!answer.Success()) {
      co_return answer.Error().ToStatus();
    } else {
      See(answer.body);
      // Judged by when we saw it change, not by its times: those are of another's clock.
      const TimePoint now = client_.executor().clock().Now();
      const bool mine = seen_.holder == options_.identity;
      const auto theirs =
          std::chrono::seconds(std::clamp<int64_t>(seen_.duration_seconds, 0, 86'400));
      if (!seen_.holder.empty() && !mine && seen_at_ + theirs > now) co_return false;
    }
  }
  const TimePoint now = client_.executor().clock().Now();
  const bool mine = !raw_.empty() && seen_.holder == options_.identity;
  LeaseRecord record;
  record.holder = options_.identity;
  record.duration_seconds =
      std::chrono::duration_cast<std::chrono::seconds>(options_.lease_duration).count();
  record.renew_time = wire::FormatRfc3339Micro(now);
  record.acquire_time =
      mine && !seen_.acquire_time.empty() ? seen_.acquire_time : record.renew_time;
  record.transitions = raw_.empty() ? 0 : mine ? seen_.transitions : seen_.transitions + 1;
  Request put = PutRequest(record);
  put.timeout = timeout;
  co_return co_await Write(std::move(put), record, began);
}

Task<Status> LeaderLease::Acquire() {
  released_ = false;
  std::string told;
  while (true) {
    const Result<bool> got = co_await TryOnce(options_.renew_deadline);
    if (got.ok() && *got) {
      log_.Info("leading", {{"lease", options_.namespace_ + "/" + options_.name},
                            {"identity", options_.identity}});
      co_return Status::Ok();
    }
    if (got.code() == Code::kPermissionDenied || got.code() == Code::kInvalidArgument ||
        got.code() == Code::kFailedPrecondition) {
      co_return got.status().Context("lease");
    }
    const std::string news = got.ok() ? "held by " + seen_.holder : got.status().ToString();
    if (news != told) log_.Info("waiting for the lease", {{"why", news}});
    told = news;
    // Jittered as client-go does, so that replicas do not ask in step.
    const auto wait = std::chrono::duration_cast<Duration>(options_.retry_period *
                                                           (1 + 1.2 * client_.rng().Unit()));
    co_await client_.executor().Sleep(wait);
  }
}

Task<Status> LeaderLease::Hold() {
  TimePoint renewed = client_.executor().clock().Now();
  while (true) {
    co_await client_.executor().Sleep(options_.retry_period);
    if (ours_until_ == 0) co_return Cancelled("released");
    const TimePoint now = client_.executor().clock().Now();
    const Duration left = renewed + options_.renew_deadline - now;
    if (left <= Duration::zero()) break;
    const Result<bool> got = co_await TryOnce(std::min(left, options_.renew_deadline / 2));
    if (got.ok() && *got) {
      renewed = now;
    } else if (!got.ok()) {
      log_.Warning("the lease could not be renewed", {{"error", got.status()}});
    } else if (seen_.holder != options_.identity && !seen_.holder.empty()) {
      break;
    }
  }
  GiveUp();
  co_return FailedPrecondition("lost the lease " + options_.namespace_ + "/" + options_.name +
                               (seen_.holder == options_.identity ? "" : " to " + seen_.holder));
}

Task<void> LeaderLease::Release() {
  if (!leads() || raw_.empty()) co_return;
  released_ = true;
  GiveUp();
  // A renewal on its way would make this a conflict, and the lease would stay ours for its time.
  const Deadline patience = Deadline::In(client_.executor().clock(), kReleaseTimeout);
  while (writing_ && !patience.Passed(client_.executor().clock()))
    co_await client_.executor().Sleep(kReleasePoll);
  const std::string now = wire::FormatRfc3339Micro(client_.executor().clock().Now());
  LeaseRecord record;
  record.duration_seconds = 1;  // as client-go: the shortest that is valid
  record.acquire_time = now;
  record.renew_time = now;
  record.transitions = seen_.transitions;
  Request put = PutRequest(record);
  put.timeout = kReleaseTimeout;
  const Result<bool> done = co_await Write(std::move(put), record, Duration());
  if (!done.ok()) log_.Warning("the lease could not be released", {{"error", done.status()}});
}

}  // namespace coppice::kube
