#include "web/board.h"

#include <utility>

namespace coppice::web {
namespace {

// Passes are told one by one; who floods us with them loses the oldest, not the memory.
constexpr size_t kMostPasses = 10'000;

}  // namespace

std::string EventText(std::string_view event, std::string_view json, uint64_t id) {
  std::string text;
  text.reserve(json.size() + 48);
  if (id != 0) text += "id: " + std::to_string(id) + "\n";
  text += "event: ";
  text += event;
  text += "\ndata: ";
  text += json;
  text += "\n\n";
  return text;
}

Board::Board(BoardOptions options)
    : options_(options), story_(options.history, options.first_seq), thread_([this] { Run(); }) {}

Board::~Board() {
  {
    const MutexLock lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  thread_.join();
  const MutexLock lock(streams_mutex_);
  for (const auto& stream : streams_) stream->Close();
}

void Board::Post(PassInfo pass) {
  {
    const MutexLock lock(mutex_);
    if (inbox_.passes.size() >= kMostPasses) inbox_.passes.erase(inbox_.passes.begin());
    inbox_.passes.push_back(std::move(pass));
  }
  wake_.notify_one();
}

void Board::Post(std::shared_ptr<const report::ProvisionReport> pools) {
  {
    const MutexLock lock(mutex_);
    if (inbox_.pools.size() >= kMostPasses) inbox_.pools.erase(inbox_.pools.begin());
    inbox_.pools.push_back(std::move(pools));
  }
  wake_.notify_one();
}

void Board::Post(std::shared_ptr<const report::SessionReport> session) {
  {
    const MutexLock lock(mutex_);
    if (inbox_.sessions.size() >= kMostPasses) inbox_.sessions.erase(inbox_.sessions.begin());
    inbox_.sessions.push_back(std::move(session));
  }
  wake_.notify_one();
}

void Board::Post(std::shared_ptr<const Seen> seen) {
  std::shared_ptr<const Seen> before;  // not destroyed under the lock
  {
    const MutexLock lock(mutex_);
    before = std::exchange(inbox_.seen, std::move(seen));
  }
  wake_.notify_one();
}

void Board::Say(std::string event, std::string json) {
  {
    const MutexLock lock(mutex_);
    inbox_.words.emplace_back(std::move(event), std::move(json));
  }
  wake_.notify_one();
}

void Board::Subscribe(std::shared_ptr<net::ServerStream> stream, uint64_t seq) {
  const MutexLock lock(streams_mutex_);
  const auto missed = story_.Since(seq);
  // Sent at once in any case: the reader sees that it is connected.
  if (!missed) {
    stream->Write(EventText("reset", "{}"));
  } else {
    stream->Write(EventText("hello", R"({"seq":)" + std::to_string(story_.seq()) + "}"));
    for (const std::string& text : *missed) stream->Write(EventText("delta", text));
  }
  streams_.push_back(std::move(stream));
  watchers_ = streams_.size();
}

void Board::Broadcast(const std::string& text) {
  std::erase_if(streams_, [&](const auto& stream) { return !stream->Write(text); });
  watchers_ = streams_.size();
}

void Board::Tell(Inbox inbox) {
  const MutexLock lock(streams_mutex_);
  for (const PassInfo& pass : inbox.passes) {
    for (const std::string& decision : story_.Pass(pass))
      Broadcast(EventText("decision", decision));
  }
  for (auto& pools : inbox.pools) {
    for (const std::string& decision : story_.Pools(std::move(pools)))
      Broadcast(EventText("decision", decision));
  }
  for (auto& session : inbox.sessions) {
    for (const std::string& decision : story_.Session(std::move(session)))
      Broadcast(EventText("decision", decision));
  }
  if (inbox.seen) {
    if (const auto delta = story_.Saw(*inbox.seen))
      Broadcast(EventText("delta", *delta, story_.seq()));
  }
  for (const auto& [event, json] : inbox.words) Broadcast(EventText(event, json));
}

void Board::Run() {
  UniqueMutexLock lock(mutex_);
  while (!stop_) {
    const bool news =
        wake_.wait_for(lock.standard(), options_.heartbeat,
                       [this]() COPPICE_REQUIRES(mutex_) { return stop_ || !inbox_.empty(); });
    if (stop_) return;
    Inbox inbox = std::exchange(inbox_, {});
    busy_ = true;
    lock.unlock();
    if (news) {
      Tell(std::move(inbox));
    } else {
      const MutexLock streams(streams_mutex_);
      Broadcast(": still here\n\n");
    }
    lock.lock();
    busy_ = false;
    idle_.notify_all();
  }
}

void Board::Flush() {
  UniqueMutexLock lock(mutex_);
  idle_.wait(lock.standard(),
             [this]() COPPICE_REQUIRES(mutex_) { return inbox_.empty() && !busy_; });
}

}  // namespace coppice::web
