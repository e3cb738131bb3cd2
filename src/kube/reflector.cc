#include "kube/reflector.h"

#include <utility>

#include "kube/watch_exchange.h"

namespace coppice::kube {

// Shared with exchanges that may outlive the reflector. Touched on the decision thread only.
struct Reflector::Link {
  Reflector* reflector = nullptr;
};

namespace {

std::string KeyOf(const Delta& delta) { return delta.namespace_ + "/" + delta.name; }

// Not that our version is forgotten, that a kind is not installed or that a server is too old for a
// streamed list.
bool IsFailure(const Status& status, bool streamed) {
  if (status.ok() || status.code() == Code::kOutOfRange || status.code() == Code::kNotFound)
    return false;
  return !streamed || status.code() != Code::kInvalidArgument;
}

}  // namespace

Reflector::Reflector(ReflectorOptions options, Client& client, const Log& log, Upsert upsert,
                     Remove remove, Changed changed)
    : options_(std::move(options)),
      client_(client),
      log_(log),
      upsert_(std::move(upsert)),
      remove_(std::move(remove)),
      changed_(std::move(changed)),
      link_(std::make_shared<Link>()) {
  link_->reflector = this;
  can_stream_ = options_.stream_first;
  last_heard_ = client_.executor().clock().Now();
  if (options_.path.empty()) options_.path = options_.codec.path;
}

Reflector::~Reflector() { link_->reflector = nullptr; }

void Reflector::Note(const Status& status) {
  const bool news = status.code() != trouble_.code();
  trouble_ = status;
  if (!news) return;
  if (status.ok()) {
    log_.Info("the view of a kind is fresh again", {{"kind", options_.codec.kind}});
    return;
  }
  log_.Warning("the view of a kind cannot be refreshed",
               {{"kind", options_.codec.kind}, {"error", status}});
}

void Reflector::Heard() {
  last_heard_ = client_.executor().clock().Now();
  Note(Status::Ok());
}

Duration Reflector::Age() const { return client_.executor().clock().Now() - last_heard(); }

void Reflector::TellUnreadable(const Delta& delta) const {
  log_.Warning("an object cannot be read", {{"kind", options_.codec.kind},
                                            {"namespace", delta.namespace_},
                                            {"name", delta.name},
                                            {"version", delta.version},
                                            {"reason", delta.unreadable->reason},
                                            {"what", delta.unreadable->what}});
}

void Reflector::See(Delta& delta) {
  if (delta.name.empty() && delta.unreadable) {
    ++nameless_;
    TellUnreadable(delta);
    return;
  }
  const std::string key = KeyOf(delta);
  Known& known = known_[key];
  known.round = round_;
  if (known.version == delta.version && !delta.version.empty()) return;  // nothing new
  known.version = delta.version;
  if (delta.unreadable) {
    unreadable_[key] = *delta.unreadable;
    TellUnreadable(delta);
  } else if (!unreadable_.empty() && unreadable_.erase(key) > 0) {
    log_.Info("an object can be read again", {{"kind", options_.codec.kind},
                                              {"namespace", delta.namespace_},
                                              {"name", delta.name},
                                              {"version", delta.version}});
  }
  upsert_(delta.object);
}

void Reflector::Forget(const Delta& delta) {
  const std::string key = KeyOf(delta);
  unreadable_.erase(key);
  if (known_.erase(key) > 0) remove_(delta.namespace_, delta.name);
}

void Reflector::RemoveUnseen() {
  std::erase_if(known_, [this](const auto& entry) {
    // One without a name may be any of those that are missed.
    if (entry.second.round == round_ || nameless_ > 0) return false;
    unreadable_.erase(entry.first);
    const size_t slash = entry.first.find('/');
    const std::string_view key = entry.first;
    remove_(key.substr(0, slash), key.substr(slash + 1));
    return true;
  });
}

void Reflector::Sweep() {
  RemoveUnseen();
  synced_ = true;
  if (forbidden_.exchange(false))
    log_.Info("a kind can be seen now", {{"kind", options_.codec.kind}});
  ++lists_;
}

void Reflector::Take(std::vector<Delta> batch) {
  if (batch.empty()) {
    stands_ = true;
    return;
  }
  for (Delta& delta : batch) {
    switch (delta.type) {
      case model::WatchType::kAdded:
      case model::WatchType::kModified:
        See(delta);
        break;
      case model::WatchType::kDeleted:
        Forget(delta);
        break;
      case model::WatchType::kBookmark:
      case model::WatchType::kError:
        break;
    }
    if (delta.initial_end && in_first_events_) {
      in_first_events_ = false;
      Sweep();
    }
    // In the middle of the first events there is no version to go on from: they come in no order.
    if (!in_first_events_ && !delta.version.empty()) version_ = delta.version;
  }
  if (in_first_events_) return;  // half a list is nobody's state
  Heard();
  if (changed_) changed_();
}

std::string Reflector::Accepted(std::string_view parameter) const {
  if (options_.codec.json_only) return std::string(kJson);
  return std::string(kProtobuf) + std::string(parameter) + "," + std::string(kJson);
}

Request Reflector::ListRequest(const std::string& continue_, bool paged) const {
  Request request;
  request.path = options_.path;
  request.accept = Accepted("");
  request.limited = false;
  request.timeout = std::chrono::minutes(1);
  if (paged) request.query.emplace_back("limit", std::to_string(options_.page_size));
  if (!continue_.empty()) request.query.emplace_back("continue", continue_);
  if (!options_.field_selector.empty())
    request.query.emplace_back("fieldSelector", options_.field_selector);
  return request;
}

Task<Status> Reflector::List() {
  ++round_;
  nameless_ = 0;
  std::string continue_;
  bool paged = true;
  while (true) {
    auto page = std::make_shared<Result<Page>>(Internal("not decoded"));
    Request request = ListRequest(continue_, paged);
    request.on_edge = [page, codec = options_.codec](std::string_view body) {
      *page = codec.read_page(body);
    };
    const Deadline deadline = Deadline::In(client_.executor().clock(), std::chrono::minutes(2));
    const auto answer = co_await client_.Send(std::move(request), deadline);
    if (!answer.ok()) co_return answer.status();
    if (answer->status == 410 && !continue_.empty()) {
      // The pages that are left are of a state that is gone. Once more from the start, and in one
      // piece, which cannot expire half-way. What was seen is of this round; the next is another.
      ++round_;
      continue_.clear();
      paged = false;
      continue;
    }
    if (!answer->Success()) co_return answer->Error().ToStatus();
    if (!page->ok()) co_return page->status();
    for (Delta& delta : (*page)->items) See(delta);
    continue_ = (*page)->metadata.continue_;
    if (!continue_.empty()) continue;
    Sweep();
    version_ = (*page)->metadata.resource_version;
    Heard();
    if (changed_) changed_();
    co_return Status::Ok();
  }
}

Task<Status> Reflector::Watch(bool from_start) {
  Request request;
  request.path = options_.path;
  request.accept = Accepted(";stream=watch");
  request.query.emplace_back("watch", "true");
  request.query.emplace_back("allowWatchBookmarks", "true");
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(options_.watch_timeout *
                                                                        (1 + client_.rng().Unit()));
  request.query.emplace_back("timeoutSeconds", std::to_string(seconds.count()));
  if (from_start) {
    request.query.emplace_back("sendInitialEvents", "true");
    request.query.emplace_back("resourceVersionMatch", "NotOlderThan");
    ++round_;
    nameless_ = 0;
  } else {
    request.query.emplace_back("resourceVersion", version_);
  }
  in_first_events_ = from_start;
  if (!options_.field_selector.empty())
    request.query.emplace_back("fieldSelector", options_.field_selector);
  // The server ends it; ours is the second line of defence.
  request.timeout = seconds + std::chrono::seconds(30);
  const Promise<Status> end(client_.executor());
  auto deliver = [link = link_, inbox = client_.executor().inbox()](std::vector<Delta> batch) {
    auto shared = std::make_shared<std::vector<Delta>>(std::move(batch));
    Executor::PostTo(*inbox, [link, shared] {
      if (link->reflector != nullptr) link->reflector->Take(std::move(*shared));
    });
  };
  auto exchange =
      std::make_shared<WatchExchange>(options_.codec, std::move(deliver), end, from_start);
  ++watches_;
  stands_ = false;
  const Duration silence =
      std::max(options_.max_silence - Age(), std::min(options_.max_silence, options_.bookmark_gap));
  CO_TRY(stream_, co_await client_.Open(std::move(request), silence, exchange));
  const Status status = co_await end.future();
  stream_ = 0;
  if (IsFailure(status, from_start)) client_.StreamFailed(options_.path, status);
  // A first state that broke off is no state: nothing of it is taken for the whole.
  if (in_first_events_ && status.ok()) co_return Unavailable("the streamed list broke off");
  co_return status;
}

// Counts as empty (what is left of an earlier view would only grow old), and is asked for again:
// rights are granted by hand, a kind may be installed a moment after us.
Task<void> Reflector::WithoutKind(Status why, Backoff& absent) {
  const bool unknown = why.code() == Code::kNotFound;
  if (!forbidden_) {
    log_.Info(unknown ? "a kind is not known to the server and counts as empty"
                      : "a kind cannot be seen and counts as empty",
              {{"kind", options_.codec.kind}, {"error", why}});
  }
  ++round_;
  nameless_ = 0;
  const bool had_some = !known_.empty();
  RemoveUnseen();
  version_.clear();
  if (had_some && changed_) changed_();
  forbidden_ = true;
  synced_ = true;
  const Duration wait = unknown ? absent.Next() : options_.forbidden_retry;
  co_await client_.executor().Sleep(wait);
}

bool Reflector::IsAbsent(const Status& status, TimePoint began) {
  const bool refused = status.code() == Code::kPermissionDenied;
  if (!refused) refused_since_.reset();
  if (!options_.optional) return false;
  if (!refused) return status.code() == Code::kNotFound;
  if (!refused_since_) refused_since_ = began;
  if (forbidden_) return true;  // said already
  if (synced_) return began - *refused_since_ >= options_.believed_after;
  return !options_.may_believe || options_.may_believe();
}

Task<void> Reflector::Run() {
  Backoff backoff(options_.backoff, client_.rng());
  Backoff absent(options_.absent_backoff, client_.rng());
  bool refused = false;  // the last attempt met a 401
  while (true) {
    const bool from_start = version_.empty();
    const bool streamed = from_start && can_stream_;
    const TimePoint began = client_.executor().clock().Now();
    Status status;
    if (from_start && !streamed) {
      status = co_await List();
    } else {
      status = co_await Watch(from_start);
    }
    if (streamed && (status.code() == Code::kInvalidArgument || status.code() == Code::kNotFound)) {
      can_stream_ = false;  // an older server: list and watch
      continue;
    }
    // What a watch that stood has not said in so long a time, a list will.
    if (stands_ && Age() > options_.reread_after) version_.clear();
    // A token may have expired since the watch before: once, at once, with a fresh one.
    const bool first_refusal = status.code() == Code::kUnauthenticated && !refused;
    refused = status.code() == Code::kUnauthenticated;
    if (refused) client_.CredentialsRefused();
    if (first_refusal) continue;
    if (status.code() == Code::kOutOfRange) {  // 410: that version is forgotten
      version_.clear();
      log_.Info("the server has forgotten our version; reading anew",
                {{"kind", options_.codec.kind}});
      // At once the first time; a server that says so again and again is not to be hammered.
      if (client_.executor().clock().Now() - began > std::chrono::seconds(1)) continue;
    } else if (status.ok()) {
      backoff.Reset();
      absent.Reset();
      refused_since_.reset();
      // A watch that ended because its time was up is opened again at once, but not one that ends
      // as soon as it begins.
      if (from_start || client_.executor().clock().Now() - began > std::chrono::seconds(1))
        continue;
    } else {
      Note(status);
      if (IsAbsent(status, began)) {
        co_await WithoutKind(status, absent);
        continue;
      }
      // What cannot be read cannot be resumed behind, either.
      if (status.code() == Code::kInvalidArgument) version_.clear();
      if (client_.executor().clock().Now() - began > std::chrono::minutes(2)) backoff.Reset();
    }
    const Duration wait = backoff.Next();
    co_await client_.executor().Sleep(wait);
  }
}

}  // namespace coppice::kube
