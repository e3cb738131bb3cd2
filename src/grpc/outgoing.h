// Messages on their way to the client of one call: prefix, bytes, prefix, bytes. Internal to this
// module.

#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

#include "grpc/framing.h"
#include "grpc/handler.h"

namespace coppice::grpc {

class Outgoing {
 public:
  // The one message of a unary call.
  void Load(Bytes bytes) {
    sending_ = std::move(bytes);
    WritePrefix(prefix_, sending_.view().size());
    sent_ = 0;
    has_message_ = true;
    bytes_ += CostOf(sending_);
  }
  void Queue(std::string message) {
    bytes_ += message.size() + kQueued;
    more_.push_back(std::move(message));
  }
  // What it would cost to keep it: nothing, if somebody keeps it anyway.
  static size_t CostOf(const Bytes& bytes) {
    return bytes.shared() != nullptr ? 0 : bytes.view().size();
  }

  bool empty() const { return !has_message_ && more_.empty(); }
  // Memory of what has not been sent.
  size_t bytes() const { return bytes_; }

  // Writes what there is and fits; how much that was.
  size_t Fill(uint8_t* out, size_t size) {
    size_t written = 0;
    while (written < size && !empty()) {
      if (!has_message_) Next();
      const std::string_view bytes = sending_.view();
      while (sent_ < kPrefix && written < size)
        out[written++] = static_cast<uint8_t>(prefix_[sent_++]);
      if (sent_ < kPrefix) break;
      const size_t from = sent_ - kPrefix;
      const size_t n = std::min(bytes.size() - from, size - written);
      if (n > 0) std::memcpy(out + written, bytes.data() + from, n);
      written += n;
      sent_ += n;
      if (sent_ < kPrefix + bytes.size()) break;
      bytes_ -= CostOf(sending_);
      has_message_ = false;
      sending_ = Bytes();
    }
    return written;
  }

  void Clear() { *this = Outgoing(); }

 private:
  static constexpr size_t kQueued = 64;  // what a short message costs beside its bytes

  void Next() {
    bytes_ -= more_.front().size() + kQueued;
    Load(std::move(more_.front()));
    more_.pop_front();
  }

  char prefix_[kPrefix] = {};
  Bytes sending_;
  size_t sent_ = 0;  // of prefix and bytes
  bool has_message_ = false;
  std::deque<std::string> more_;
  size_t bytes_ = 0;
};

}  // namespace coppice::grpc
