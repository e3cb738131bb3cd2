#include "kube/watch_exchange.h"

#include <algorithm>
#include <utility>

#include "kube/client.h"

namespace coppice::kube {
namespace {

constexpr size_t kMaxErrorBytes = 64 << 10;
// Of a first state nothing is acted on before its end: it is handed over in pieces of this many
// objects, instead of waking the other thread for every few that a read brings.
constexpr size_t kFirstStatePiece = 256;

}  // namespace

WatchExchange::WatchExchange(KindCodec codec, std::function<void(std::vector<Delta>)> deliver,
                             Promise<Status> end, bool first_state)
    : codec_(std::move(codec)),
      deliver_(std::move(deliver)),
      end_(std::move(end)),
      in_first_state_(first_state),
      frames_(wire::Encoding::kProtobuf) {}

bool WatchExchange::OnHead(const net::HttpResponse& head) {
  head_ = head;
  if (!head.Success()) return true;
  const std::string* type = head.Header("content-type");
  if (type != nullptr && type->starts_with(kJson)) {
    encoding_ = wire::Encoding::kJson;
    frames_ = wire::WatchFrames(encoding_);
  }
  deliver_({});  // it stands; what that is worth is said in the header
  return true;
}

bool WatchExchange::OnBody(std::string_view bytes) {
  if (!head_.Success()) {
    error_body_.append(
        bytes.substr(0, kMaxErrorBytes - std::min(kMaxErrorBytes, error_body_.size())));
    return true;
  }
  frames_.Feed(bytes);
  while (trouble_.ok()) {
    const auto frame = frames_.Next();
    if (!frame.ok()) {
      trouble_ = frame.status();
    } else if (!frame->has_value()) {
      break;
    } else {
      std::optional<wire::ApiError> error;
      auto delta = codec_.read_event(encoding_, **frame, error);
      if (delta.ok()) {
        if (delta->initial_end) in_first_state_ = false;
        batch_.push_back(*std::move(delta));
      } else {
        trouble_ = delta.status();
      }
    }
  }
  if (batch_.size() >= (in_first_state_ ? kFirstStatePiece : 1))
    deliver_(std::exchange(batch_, {}));
  return trouble_.ok();
}

void WatchExchange::OnEnd(Status outcome) {
  if (!batch_.empty()) deliver_(std::exchange(batch_, {}));
  if (!trouble_.ok()) {
    end_.Set(trouble_);
  } else if (outcome.ok() && !head_.Success()) {
    const std::string* type = head_.Header("content-type");
    const std::string* after = head_.Header("retry-after");
    end_.Set(
        wire::ErrorFromAnswer(head_.status, type ? *type : "", after ? *after : "", error_body_)
            .ToStatus());
  } else if (outcome.ok() && !frames_.AtBoundary()) {
    end_.Set(Unavailable("the watch ended in the middle of an event"));
  } else {
    end_.Set(std::move(outcome));
  }
}

}  // namespace coppice::kube
