// Bytes of a streamed answer on their way from any thread to the server's; private to
// http_server.cc.

#pragma once

#include <functional>
#include <mutex>
#include <string>

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
  std::mutex mutex_;
  std::function<void()> wake_;
  std::string pending_;
  std::function<void(std::string&)> more_;  // asked for what comes behind pending_
  bool closing_ = false;                    // after what is pending
  bool broken_ = false;                     // at once
};

}  // namespace coppice::net
