// The transport's side of a watch: cuts the stream into events, decodes them, delivers batches.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/promise.h"
#include "kube/kind_codec.h"
#include "net/http_multi.h"
#include "wire/watch_frames.h"

namespace coppice::kube {

// On the transport's thread.
class WatchExchange final : public net::Exchange {
 public:
  // `deliver` gets an empty batch when the watch was answered with 200. `first_state`: the stream
  // begins with the whole state.
  WatchExchange(KindCodec codec, std::function<void(std::vector<Delta>)> deliver,
                Promise<Status> end, bool first_state);

  bool OnHead(const net::HttpResponse& head) override;
  bool OnBody(std::string_view bytes) override;
  void OnEnd(Status outcome) override;

 private:
  KindCodec codec_;
  std::function<void(std::vector<Delta>)> deliver_;
  Promise<Status> end_;
  bool in_first_state_;
  std::vector<Delta> batch_;  // decoded, not delivered yet
  wire::WatchFrames frames_;
  wire::Encoding encoding_ = wire::Encoding::kProtobuf;
  net::HttpResponse head_;
  std::string error_body_;
  Status trouble_;
};

}  // namespace coppice::kube
