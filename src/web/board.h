// Board: stands between the decision thread and everybody who watches. What is posted is taken by a
// thread of its own, which tells the story and writes each delta to every open event stream; whoever
// posts takes a lock for as long as a pointer is put into a list, however many watch.
//
// Any thread may call.

#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "net/http_server.h"
#include "web/story.h"

namespace coppice::web {

struct BoardOptions {
  HistoryOptions history;
  uint64_t first_seq = 0;  // as story.h has it
  // A silent stream is told so often that somebody is there; a proxy would close it otherwise.
  Duration heartbeat = std::chrono::seconds(15);
};

class Board {
 public:
  explicit Board(BoardOptions options = {});
  ~Board();  // ends the streams
  Board(const Board&) = delete;
  Board& operator=(const Board&) = delete;

  void Post(PassInfo pass);
  void Post(std::shared_ptr<const report::ProvisionReport> pools);
  void Post(std::shared_ptr<const report::SessionReport> session);
  // A newer one replaces one that has not been looked at yet.
  void Post(std::shared_ptr<const Seen> seen);
  // An event of another name to everybody: "control".
  void Say(std::string event, std::string json);

  // From here on the stream gets what happens, after what has happened since `seq` (0: nothing is
  // known) or the word that the state is to be asked for anew.
  void Subscribe(std::shared_ptr<net::ServerStream> stream, uint64_t seq);
  size_t watchers() const { return watchers_; }
  bool watched() const { return watchers_ > 0; }

  const Story& story() const { return story_; }
  // Until everything that was posted has been told. For tests.
  void Flush();

 private:
  struct Inbox {
    std::vector<PassInfo> passes;
    std::shared_ptr<const Seen> seen;
    std::vector<std::pair<std::string, std::string>> words;
    std::vector<std::shared_ptr<const report::ProvisionReport>> pools;
    std::vector<std::shared_ptr<const report::SessionReport>> sessions;
    bool empty() const {
      return passes.empty() && !seen && words.empty() && pools.empty() && sessions.empty();
    }
  };
  void Run();
  void Tell(Inbox inbox);
  void Broadcast(const std::string& text) COPPICE_REQUIRES(streams_mutex_);

  const BoardOptions options_;
  Story story_;

  mutable Mutex streams_mutex_;  // also: no delta is between a story and its streams
  std::vector<std::shared_ptr<net::ServerStream>> streams_ COPPICE_GUARDED_BY(streams_mutex_);
  std::atomic<size_t> watchers_ = 0;  // as many, for who takes no lock

  Mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable idle_;
  Inbox inbox_ COPPICE_GUARDED_BY(mutex_);
  bool busy_ COPPICE_GUARDED_BY(mutex_) = false;
  bool stop_ COPPICE_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // last: it uses the others
};

// One server-sent event; `id` 0: none. JSON has no line breaks, so one data line is enough.
std::string EventText(std::string_view event, std::string_view json, uint64_t id = 0);

}  // namespace coppice::web
