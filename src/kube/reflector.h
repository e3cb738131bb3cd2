// Reflector: keeps a local picture of all objects of one kind up to date, by list and watch.
//
// The picture is somebody else's (the World); this hands out changes: `upsert` for an object that
// is new or another version, `remove` for one that is gone, each change once, on the decision
// thread. A watch that ends goes on where it stopped. When the server has forgotten that version
// (410), the list is read anew and compared: what has vanished meanwhile is removed, what is the
// same version is not handed out again.
//
// An object that cannot be read is handed out like any other, with metadata.unreadable set and what
// could be read of it; it is logged once per version and listed here until it can be read or is
// gone. One of which not even the name is known cannot be handed out: it is counted, and the list
// that had it removes nothing.
//
// The picture is as of when something was really read: the end of a list, an event or a bookmark of
// a watch that goes on from one. That a watch was answered with 200 says nothing, nor does half a
// list. Bookmarks come about once a minute (62.5 s at most from an API server in good order), so a
// quiet kind is that old at times. Where none come, be it that something in between cuts idle
// connections or that the server sends none, the kind is listed again: a watch may be silent for
// max_silence, less the age that the picture had when it was opened but never less than
// bookmark_gap; and one that ends when the picture is older than reread_after is followed by a
// list. So on a server that answers no picture gets older than reread_after + bookmark_gap plus the
// time of a list: 160 s and some seconds, within the three minutes of --fuse-max-view-age.
//
// Decision thread; decoding happens on the transport's. What may be asked from any thread says so.

#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/backoff.h"
#include "base/log.h"
#include "base/promise.h"
#include "kube/client.h"
#include "kube/kind_codec.h"

namespace coppice::kube {

struct ReflectorOptions {
  KindCodec codec;
  std::string path = {};  // instead of the codec's: one namespace only
  std::string field_selector = {};
  // Without the right to see this kind (403), or if the server does not know it (404: a custom
  // resource that is not installed), the reflector says so once and counts as synced and empty; it
  // asks again now and then.
  bool optional = false;
  // An API server that has just started refuses everything until it has read the rules of access.
  // So a refusal is an error like others, and what was read stays: until it has gone on for
  // `believed_after` if the kind has been read before; if not, until `may_believe` (the feed: the
  // kinds that everybody needs can be read). Null: at once.
  Duration believed_after = std::chrono::minutes(1);
  std::function<bool()> may_believe = nullptr;
  // Read the first state as a stream of events where the server can (watch list): one request
  // instead of pages, and no list in anybody's memory.
  bool stream_first = true;
  int page_size = 1'000;
  // The server ends a watch after this long, drawn up to twice as long so that many clients do not
  // come back together.
  Duration watch_timeout = std::chrono::minutes(5);
  // See above. A watch that is silent for longer than this is dead, or of no use.
  Duration max_silence = std::chrono::seconds(120);
  Duration bookmark_gap = std::chrono::seconds(70);
  Duration reread_after = std::chrono::seconds(90);
  Duration forbidden_retry = std::chrono::minutes(1);
  BackoffOptions absent_backoff{.first = std::chrono::seconds(2),
                                .longest = std::chrono::minutes(1),
                                .factor = 2.0,
                                .jitter = 0.5};
  // client-go's, but for the longest wait: thirty seconds are for thousands of clients of a server
  // that comes back; we are one, and decide nothing while the view is old.
  BackoffOptions backoff{.first = std::chrono::milliseconds(800),
                         .longest = std::chrono::seconds(5),
                         .factor = 2.0,
                         .jitter = 0.5};
};

class Reflector {
 public:
  using Upsert = std::function<void(const std::shared_ptr<const void>& object)>;
  using Remove = std::function<void(std::string_view namespace_, std::string_view name)>;
  // After a batch of changes: the state is consistent, and something may be worth a look.
  using Changed = std::function<void()>;

  Reflector(ReflectorOptions options, Client& client, const Log& log, Upsert upsert, Remove remove,
            Changed changed = nullptr);
  ~Reflector();
  Reflector(const Reflector&) = delete;
  Reflector& operator=(const Reflector&) = delete;

  // For ever; spawn it.
  Task<void> Run();

  // These from any thread.
  const std::string& kind() const { return options_.codec.kind; }
  bool optional() const { return options_.optional; }
  bool synced() const { return synced_; }        // the whole state has been seen at least once
  bool forbidden() const { return forbidden_; }  // or not there: see `optional`
  // When the picture was last known to be what the server had; until then when this was made.
  TimePoint last_heard() const { return last_heard_; }

  const Status& trouble() const { return trouble_; }  // OK while all is well
  uint64_t lists() const { return lists_; }
  uint64_t watches() const { return watches_; }
  size_t size() const { return known_.size(); }
  // What is there and cannot be read, by namespace/name.
  const std::map<std::string, model::Unreadable>& unreadable() const { return unreadable_; }
  // Objects without a name since the last list began.
  size_t nameless() const { return nameless_; }

  // For the transport's side; not for others.
  struct Link;
  void Take(std::vector<Delta> batch);

 private:
  struct Known {
    std::string version;
    uint64_t round = 0;  // of the list in which it was last seen
  };

  Task<Status> List();
  Task<Status> Watch(bool from_start);
  Task<void> WithoutKind(Status why, Backoff& absent);
  // Whether this is the server's last word on a kind that may be missing; `began`: the request.
  bool IsAbsent(const Status& status, TimePoint began);
  std::string Accepted(std::string_view parameter) const;
  Request ListRequest(const std::string& continue_, bool paged) const;
  Duration Age() const;
  void See(Delta& delta);
  void TellUnreadable(const Delta& delta) const;
  void Forget(const Delta& delta);
  void RemoveUnseen();  // what is not of this round
  void Sweep();         // what the list that is now complete did not have
  void Heard();
  void Note(const Status& status);

  ReflectorOptions options_;
  Client& client_;
  const Log& log_;
  Upsert upsert_;
  Remove remove_;
  Changed changed_;
  std::shared_ptr<Link> link_;  // how the transport's thread finds us, or finds that we are gone
  uint64_t stream_ = 0;
  std::unordered_map<std::string, Known> known_;  // by namespace/name
  std::string version_;                           // "": nothing to go on from
  uint64_t round_ = 0;
  std::map<std::string, model::Unreadable> unreadable_;
  size_t nameless_ = 0;
  bool in_first_events_ = false;  // of a streamed list
  bool stands_ = false;           // the watch was answered with 200
  std::atomic<bool> synced_ = false;
  std::atomic<bool> forbidden_ = false;
  std::optional<TimePoint> refused_since_;  // 403, and nothing else since then
  bool can_stream_ = true;
  std::atomic<TimePoint> last_heard_;
  Status trouble_;
  uint64_t lists_ = 0;
  uint64_t watches_ = 0;
};

}  // namespace coppice::kube
