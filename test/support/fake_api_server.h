// A small API server, for the faults that a real one rarely shows: objects by path,
// versions, lists in pages, watches with history, conflicts, and scripted refusals. JSON only.
//
// The handler runs on the server's thread; everything here takes the lock.

#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "net/http_server.h"
#include "test/support/must.h"

namespace coppice::test {

class FakeApiServer {
 public:
  using Json = nlohmann::json;

  struct Seen {
    std::string method;
    std::string path;
    net::QueryItems query;
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers;
  };
  struct Refusal {
    std::string method;  // "" for any
    std::string path;    // beginning of it
    int status = 500;
    std::string body;
    std::vector<std::pair<std::string, std::string>> headers;
    int times = 1;
    bool act_first = false;  // do it, and then answer like this
    std::string query;       // only with this in the query
  };

  explicit FakeApiServer(bool can_stream = true)
      : can_stream_(can_stream),
        server_(MustValue(
            net::HttpServer::Create({.port = 0, .max_body_bytes = 1 << 20},
                                    [this](const net::ServerRequest& r) { return Handle(r); }))) {}

  std::string url() const { return "http://127.0.0.1:" + std::to_string(server_->port()); }

  // `collection` is a path without namespace: "/api/v1/pods".
  void Put(const std::string& collection, const std::string& kind, const std::string& name,
           Json object = Json::object(), const std::string& namespace_ = "") {
    const std::lock_guard lock(mutex_);
    object["kind"] = kind;
    object["apiVersion"] = ApiVersion(collection);
    object["metadata"]["name"] = name;
    if (!namespace_.empty()) object["metadata"]["namespace"] = namespace_;
    Store(collection, namespace_ + "/" + name, std::move(object));
  }
  void Delete(const std::string& collection, const std::string& name,
              const std::string& namespace_ = "") {
    const std::lock_guard lock(mutex_);
    Erase(collection, namespace_ + "/" + name);
  }
  Json Get(const std::string& collection, const std::string& name,
           const std::string& namespace_ = "") {
    const std::lock_guard lock(mutex_);
    const auto& objects = objects_[collection];
    const auto it = objects.find(namespace_ + "/" + name);
    return it == objects.end() ? Json() : it->second;
  }
  void Refuse(Refusal refusal) {
    const std::lock_guard lock(mutex_);
    refusals_.push_back(std::move(refusal));
  }
  // From now on answers to requests whose path ends like that begin, and end only with LetGo(): what
  // they ask for is done.
  void HoldAnswers(std::string path_end, std::string method = "POST") {
    const std::lock_guard lock(mutex_);
    hold_ = std::move(path_end);
    hold_method_ = std::move(method);
  }
  size_t held() {
    const std::lock_guard lock(mutex_);
    return held_.size();
  }
  void LetGo() {
    const std::lock_guard lock(mutex_);
    hold_.clear();
    for (auto& [stream, body] : held_) {
      stream->Write(body);
      stream->Close();
    }
    held_.clear();
  }
  // From now on first states are streamed without their end.
  void LeaveFirstStatesOpen() {
    const std::lock_guard lock(mutex_);
    first_states_end_ = false;
  }
  // Ends every watch, as a restart or a broken network would.
  void CutWatches() {
    const std::lock_guard lock(mutex_);
    for (auto& watch : watches_) watch.stream->Close();
    watches_.clear();
  }
  // Forgets history: who watches from before gets a 410.
  void Compact() {
    const std::lock_guard lock(mutex_);
    oldest_ = version_ + 1;
    history_.clear();
  }
  void Bookmark(const std::string& collection, const std::string& kind) {
    const std::lock_guard lock(mutex_);
    Send(collection, {{"type", "BOOKMARK"}, {"object", MakeBookmark(collection, kind, false)}});
  }
  std::vector<Seen> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  size_t Count(const std::string& method, const std::string& path_part) {
    const std::lock_guard lock(mutex_);
    return static_cast<size_t>(std::ranges::count_if(seen_, [&](const Seen& s) {
      return s.method == method && s.path.find(path_part) != std::string::npos;
    }));
  }
  size_t watches() {
    const std::lock_guard lock(mutex_);
    return watches_.size();
  }

 private:
  struct Watch {
    std::string collection;
    bool ended;  // of pods: those alone that have ended
    std::shared_ptr<net::ServerStream> stream;
  };
  struct Change {
    int64_t version;
    std::string collection;
    Json event;
  };

  static std::string ApiVersion(const std::string& collection) {
    const size_t start = collection.starts_with("/api/") ? 5 : 6;
    return collection.substr(start, collection.rfind('/') - start);
  }
  static net::ServerResponse Answer(int status, const Json& body) {
    return {
        .status = status, .content_type = "application/json", .headers = {}, .body = body.dump()};
  }
  static net::ServerResponse Refused(int status, const std::string& reason) {
    return Answer(status, {{"kind", "Status"},
                           {"apiVersion", "v1"},
                           {"status", "Failure"},
                           {"reason", reason},
                           {"message", reason + " by the fake"},
                           {"code", status}});
  }
  Json MakeBookmark(const std::string& collection, const std::string& kind, bool end) {
    Json object = {{"kind", kind},
                   {"apiVersion", ApiVersion(collection)},
                   {"metadata", {{"resourceVersion", std::to_string(version_)}}}};
    if (end) object["metadata"]["annotations"]["k8s.io/initial-events-end"] = "true";
    return object;
  }
  void Send(const std::string& collection, const Json& event) {
    const std::string line = event.dump() + "\n";
    std::erase_if(watches_, [&](Watch& watch) {
      return watch.collection == collection && (!watch.ended || HasEnded(event["object"])) &&
             !watch.stream->Write(line);
    });
  }
  // Of field selectors only that one is understood: pods that have ended. All others select all.
  static bool WantsEnded(const net::ServerRequest& request) {
    const std::string* selector = request.Query("fieldSelector");
    return selector != nullptr && selector->find("status.phase!=Running") != std::string::npos;
  }
  static bool HasEnded(const Json& object) {
    const std::string phase = object.contains("status") ? object["status"].value("phase", "") : "";
    return phase == "Succeeded" || phase == "Failed" || object["kind"] != "Pod" ||
           !object["metadata"].contains("name");  // a bookmark
  }
  void Store(const std::string& collection, const std::string& key, Json object) {
    const bool known = objects_[collection].contains(key);
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    if (!object["metadata"].contains("uid"))
      object["metadata"]["uid"] = "uid-" + std::to_string(version_);
    kinds_[collection] = object["kind"];
    Note(collection, {{"type", known ? "MODIFIED" : "ADDED"}, {"object", object}});
    objects_[collection][key] = std::move(object);
  }
  void Erase(const std::string& collection, const std::string& key) {
    const auto it = objects_[collection].find(key);
    if (it == objects_[collection].end()) return;
    Json object = it->second;
    object["metadata"]["resourceVersion"] = std::to_string(++version_);
    objects_[collection].erase(it);
    Note(collection, {{"type", "DELETED"}, {"object", object}});
  }
  void Note(const std::string& collection, Json event) {
    Send(collection, event);
    history_.push_back({version_, collection, std::move(event)});
  }

  // "/api/v1/namespaces/ns/pods/name/eviction" -> collection, namespace, name, subresource.
  struct Target {
    std::string collection, namespace_, name, sub;
  };
  static Target Split(const std::string& path) {
    std::vector<std::string> parts = coppice_split(path);
    Target target;
    const size_t start = parts.size() > 1 && parts[0] == "api" ? 2 : 3;
    size_t at = start;
    if (parts.size() > at + 2 && parts[at] == "namespaces") {
      target.namespace_ = parts[at + 1];
      at += 2;
    }
    for (size_t i = 0; i < start && i < parts.size(); ++i) target.collection += "/" + parts[i];
    if (at < parts.size()) target.collection += "/" + parts[at];
    if (at + 1 < parts.size()) target.name = parts[at + 1];
    if (at + 2 < parts.size()) target.sub = parts[at + 2];
    return target;
  }
  static std::vector<std::string> coppice_split(const std::string& path) {
    std::vector<std::string> parts;
    size_t at = 1;
    while (at <= path.size()) {
      const size_t next = std::min(path.find('/', at), path.size());
      parts.push_back(path.substr(at, next - at));
      at = next + 1;
    }
    return parts;
  }

  net::ServerResponse Handle(const net::ServerRequest& request) {
    const std::lock_guard lock(mutex_);
    seen_.push_back({request.method, request.path, request.query, request.body, request.headers});
    for (Refusal& refusal : refusals_) {
      if (refusal.times <= 0 || !request.path.starts_with(refusal.path)) continue;
      if (!refusal.method.empty() && refusal.method != request.method) continue;
      if (!refusal.query.empty() && request.Query(refusal.query) == nullptr) continue;
      --refusal.times;
      if (refusal.act_first) Act(request);
      return {.status = refusal.status,
              .content_type = "application/json",
              .headers = refusal.headers,
              .body = refusal.body};
    }
    net::ServerResponse response = Act(request);
    if (hold_.empty() || request.method != hold_method_ || !request.path.ends_with(hold_))
      return response;
    response.stream =
        [this, body = std::exchange(response.body, "")](std::shared_ptr<net::ServerStream> stream) {
          const std::lock_guard held_lock(mutex_);
          held_.emplace_back(std::move(stream), body);
        };
    return response;
  }

  net::ServerResponse Act(const net::ServerRequest& request) {
    const Target target = Split(request.path);
    auto& objects = objects_[target.collection];
    const std::string key = target.namespace_ + "/" + target.name;
    if (request.method == "GET" && target.name.empty()) {
      if (!kinds_.contains(target.collection)) return Refused(404, "NotFound");
      return request.Query("watch") != nullptr ? StartWatch(request, target.collection)
                                               : List(request, target.collection);
    }
    const auto it = objects.find(key);
    if (request.method == "POST" && target.sub == "eviction") {
      if (it == objects.end()) return Refused(404, "NotFound");
      const Json eviction = Json::parse(request.body, nullptr, false);
      if (const auto other = OtherUid(eviction, "/deleteOptions/preconditions/uid", it->second))
        return *other;
      Erase(target.collection, key);
      return Answer(201, {{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Success"}});
    }
    if (request.method == "POST" && target.sub == "binding") {
      return it == objects.end() ? Refused(404, "NotFound") : Bind(request, target, it->second);
    }
    Json body = Json::parse(request.body.empty() ? "{}" : request.body, nullptr, false);
    if (request.method == "POST") {
      if (!body["metadata"].contains("name") && body["metadata"].contains("generateName")) {
        body["metadata"]["name"] =
            body["metadata"]["generateName"].get<std::string>() + std::to_string(version_ + 1);
      }
      const std::string new_key = target.namespace_ + "/" + body["metadata"].value("name", "");
      if (objects.contains(new_key)) return Refused(409, "AlreadyExists");
      Store(target.collection, new_key, body);
      return Answer(201, objects[new_key]);
    }
    if (it == objects.end()) return Refused(404, "NotFound");
    if (request.method == "GET") return Answer(200, it->second);
    if (request.method == "PUT") {
      const std::string version = body["metadata"].value("resourceVersion", "");
      if (!version.empty() &&
          version != it->second["metadata"]["resourceVersion"].get<std::string>())
        return Refused(409, "Conflict");
      Store(target.collection, key, body);
      return Answer(200, objects[key]);
    }
    if (request.method == "PATCH") return Patch(target, body, it->second);
    if (const auto other = OtherUid(body, "/preconditions/uid", it->second)) return *other;
    if (HasFinalizers(it->second)) {
      Json going = it->second;
      going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z";
      Store(target.collection, key, std::move(going));
      return Answer(200, objects[key]);
    }
    Erase(target.collection, key);
    return Answer(200, {{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Success"}});
  }

  // What the server says if the object is not the one that was meant.
  static std::optional<net::ServerResponse> OtherUid(const Json& body, const char* where,
                                                     const Json& object) {
    const Json::json_pointer wanted(where);
    const std::string is = object["metadata"].value("uid", "");
    if (!body.is_object() || !body.contains(wanted) || body[wanted] == is) return std::nullopt;
    Json conflict = {{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Failure"}};
    conflict["reason"] = "Conflict";
    conflict["code"] = 409;
    conflict["message"] =
        "Operation cannot be fulfilled: Precondition failed: UID in precondition: " +
        body[wanted].get<std::string>() + ", UID in object meta: " + is;
    return Answer(409, conflict);
  }
  static bool HasFinalizers(const Json& object) {
    const Json::json_pointer at("/metadata/finalizers");
    return object.contains(at) && !object[at].empty();
  }

  net::ServerResponse Bind(const net::ServerRequest& request, const Target& target, Json pod) {
    const Json binding = Json::parse(request.body, nullptr, false);
    if (const auto other = OtherUid(binding, "/metadata/uid", pod)) return *other;
    if (!pod["spec"].value("nodeName", "").empty()) return Refused(409, "Conflict");
    pod["spec"]["nodeName"] = binding["target"]["name"];
    if (binding["metadata"].contains("annotations"))
      pod["metadata"]["annotations"].update(binding["metadata"]["annotations"]);
    Store(target.collection, target.namespace_ + "/" + target.name, std::move(pod));
    return Answer(201, {{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Success"}});
  }

  // Status and the rest are written through doors of their own.
  net::ServerResponse Patch(const Target& target, Json body, const Json& object) {
    const Json& metadata = body.contains("metadata") ? body["metadata"] : Json::object();
    if (metadata.contains("uid") && metadata["uid"] != object["metadata"]["uid"]) {
      Json invalid = {{"kind", "Status"}, {"apiVersion", "v1"}, {"status", "Failure"}};
      invalid["reason"] = "Invalid";
      invalid["code"] = 422;
      invalid["message"] = "metadata.uid: Invalid value: field is immutable";
      return Answer(422, invalid);
    }
    if (metadata.contains("resourceVersion") &&
        metadata["resourceVersion"] != object["metadata"]["resourceVersion"])
      return Refused(409, "Conflict");
    Json merged = object;
    if (target.sub == "status") {
      if (body.contains("status")) merged["status"].merge_patch(body["status"]);
    } else {
      body.erase("status");
      merged.merge_patch(body);
    }
    const std::string key = target.namespace_ + "/" + target.name;
    if (merged["metadata"].contains("deletionTimestamp") && !HasFinalizers(merged)) {
      Erase(target.collection, key);
      return Answer(200, merged);
    }
    Store(target.collection, key, std::move(merged));
    return Answer(200, objects_[target.collection][key]);
  }

  net::ServerResponse List(const net::ServerRequest& request, const std::string& collection) {
    const std::string* limit = request.Query("limit");
    const std::string* from = request.Query("continue");
    size_t at = from != nullptr ? std::stoul(*from) : 0;
    const size_t count = limit != nullptr ? std::stoul(*limit) : objects_[collection].size();
    Json items = Json::array();
    size_t index = 0;
    for (const auto& [key, object] : objects_[collection]) {
      const bool wanted = !WantsEnded(request) || HasEnded(object);
      if (wanted && index >= at && items.size() < count) items.push_back(object);
      ++index;
    }
    at += items.size();
    Json metadata = {{"resourceVersion", std::to_string(version_)}};
    if (!WantsEnded(request) && at < objects_[collection].size())
      metadata["continue"] = std::to_string(at);
    return Answer(200, {{"kind", kinds_[collection] + "List"},
                        {"apiVersion", ApiVersion(collection)},
                        {"metadata", metadata},
                        {"items", items}});
  }

  net::ServerResponse StartWatch(const net::ServerRequest& request, const std::string& collection) {
    const std::string* initial = request.Query("sendInitialEvents");
    if (initial != nullptr && !can_stream_) return Refused(422, "Invalid");
    const std::string* version = request.Query("resourceVersion");
    const int64_t from = version != nullptr && !version->empty() ? std::stoll(*version) : 0;
    const bool ended = WantsEnded(request);
    std::string first;
    bool gone = false;
    if (initial != nullptr) {
      for (const auto& [key, object] : objects_[collection]) {
        if (!ended || HasEnded(object))
          first += Json({{"type", "ADDED"}, {"object", object}}).dump() + "\n";
      }
      if (first_states_end_) {
        first += Json({{"type", "BOOKMARK"},
                       {"object", MakeBookmark(collection, kinds_[collection], true)}})
                     .dump() +
                 "\n";
      }
    } else if (from + 1 < oldest_) {
      gone = true;
      first = Json({{"type", "ERROR"},
                    {"object",
                     {{"kind", "Status"},
                      {"apiVersion", "v1"},
                      {"status", "Failure"},
                      {"reason", "Expired"},
                      {"message", "too old resource version"},
                      {"code", 410}}}})
                  .dump() +
              "\n";
    } else {
      for (const Change& change : history_) {
        if (change.version > from && change.collection == collection &&
            (!ended || HasEnded(change.event["object"])))
          first += change.event.dump() + "\n";
      }
    }
    net::ServerResponse response;
    response.content_type = "application/json";
    response.stream = [this, collection, first, gone,
                       ended](std::shared_ptr<net::ServerStream> stream) {
      if (!first.empty()) stream->Write(first);
      if (gone) return stream->Close();
      const std::lock_guard lock(mutex_);
      watches_.push_back({collection, ended, std::move(stream)});
    };
    return response;
  }

  std::mutex mutex_;
  const bool can_stream_;
  int64_t version_ = 100;
  int64_t oldest_ = 0;
  std::map<std::string, std::map<std::string, Json>> objects_;
  std::map<std::string, std::string> kinds_;
  bool first_states_end_ = true;
  std::vector<Change> history_;
  std::vector<Watch> watches_;
  std::vector<Refusal> refusals_;
  std::string hold_;
  std::string hold_method_;
  std::vector<std::pair<std::shared_ptr<net::ServerStream>, std::string>> held_;
  std::vector<Seen> seen_;
  std::unique_ptr<net::HttpServer> server_;  // last: its thread uses all of the above
};

}  // namespace coppice::test
