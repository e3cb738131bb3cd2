// Bytes of a streamed answer on their way from any thread to the server's; private to
// http_server.cc.

#pragma once

#include <functional>
#include <string>

#include "base/mutex.h"
#include "net/http_server.h"

namespace coppice::net {

class StreamQueue final : public ServerStream {
 public:
  // `wake` is called, with a lock held, whenever Take may have something new; never after Detach.
  StreamQueue(size_t max_backlog, std::function<void()> wake)
      : max_backlog_(max_backlog), wake_(std::move(wake)) {}

  bool Write(std::string_view text) override;
  void Close() override;
  void WriteFrom(std::function<void(std::string& piece)> more) override;

  // The reader's end is gone, or is to go at once.
  void GiveUp();
  // The server's side goes; writers may stay.
  void Detach();

  enum class Next { kText, kWait, kEnd, kBroken };
  // What to do now; kText comes with everything that has been written, or the next piece.
  Next Take(std::string& text);

 private:
  const size_t max_backlog_;
  Mutex mutex_;
  std::function<void()> wake_ COPPICE_GUARDED_BY(mutex_);
  std::string pending_ COPPICE_GUARDED_BY(mutex_);
  std::function<void(std::string&)> more_
      COPPICE_GUARDED_BY(mutex_);                    // asked for what comes behind pending_
  bool closing_ COPPICE_GUARDED_BY(mutex_) = false;  // after what is pending
  bool broken_ COPPICE_GUARDED_BY(mutex_) = false;   // at once
};

}  // namespace coppice::net
