#include "grpc/raw_service.h"

#include <grpc/slice.h>
#include <grpcpp/impl/codegen/rpc_service_method.h>
#include <grpcpp/support/async_unary_call.h>

#include <optional>
#include <utility>

namespace coppice::grpc {
namespace {

// Calls awaited per method. The library keeps what comes beyond them, at some cost; a client of
// ours has at most a few dozen calls of one method in flight.
constexpr int kAwaitedPerMethod = 16;
// Below this a copy costs less than the reference count of a shared slice.
constexpr size_t kCopyBelowBytes = 2'048;

class LibraryCaller final : public Caller {
 public:
  explicit LibraryCaller(const ::grpc::ServerContext& context) : context_(context) {}

  std::vector<std::string> Names() const override {
    const auto identity = context_.auth_context();
    if (identity == nullptr || !identity->IsPeerAuthenticated()) return {};
    std::vector<std::string> names;
    for (const char* property : {"x509_subject_alternative_name", "x509_common_name"}) {
      for (const auto& value : identity->FindPropertyValues(property))
        names.emplace_back(value.data(), value.size());
      if (!names.empty()) break;  // the common name is only the fallback, as everywhere in TLS
    }
    return names;
  }
  std::string Address() const override { return context_.peer(); }

 private:
  const ::grpc::ServerContext& context_;
};

::grpc::ByteBuffer ToBuffer(const Bytes& bytes) {
  const std::string_view view = bytes.view();
  if (bytes.shared() == nullptr || view.size() < kCopyBelowBytes) {
    const ::grpc::Slice slice(view.data(), view.size());
    return {&slice, 1};
  }
  auto* keep = new std::shared_ptr<const std::string>(bytes.shared());
  const ::grpc::Slice slice(
      const_cast<char*>(view.data()), view.size(),
      [](void* shared) { delete static_cast<std::shared_ptr<const std::string>*>(shared); }, keep);
  return {&slice, 1};
}

::grpc::Status ToGrpc(const Status& status) {
  return {static_cast<::grpc::StatusCode>(status.code()), status.message()};
}

}  // namespace

class RawService::Slot {
 public:
  Slot(RawService& owner, int index)
      : owner_(owner),
        index_(index),
        method_(owner.service_.methods[static_cast<size_t>(index)]),
        path_(owner.paths_[static_cast<size_t>(index)]) {}

  void Await() {
    answered_ = false;
    request_.Clear();
    writer_.reset();
    context_.emplace();
    writer_.emplace(&*context_);
    const std::lock_guard lock(owner_.mutex_);
    if (!owner_.accepting_) return;
    owner_.RequestAsyncUnary(index_, &*context_, &request_, &*writer_, owner_.queue_, owner_.queue_,
                             this);
  }

  // `ok` is false when the server stops before a call came.
  void OnEvent(bool ok) {
    if (answered_) {
      // Sent, or the client is gone: either way the slot is free for the next call. After a
      // shutdown the library answers Await() with !ok.
      Await();
    } else if (ok) {
      Handle();
    }
  }

 private:
  void Handle() {
    if (!method_.waits) return Finish(Run());
    owner_.Enter();
    const Status queued = owner_.workers_.Submit([this] {
      Finish(Run());
      owner_.Leave();
    });
    if (queued.ok()) return;
    Finish(Unavailable("the provider is busy with " + method_.name + " calls: " + queued.message() +
                       "; try again"));
    owner_.Leave();
  }

  Answer Run() {
    ::grpc::Slice whole;
    if (!request_.TrySingleSlice(&whole).ok() && !request_.DumpToSingleSlice(&whole).ok() &&
        request_.Valid()) {
      return Internal("the request could not be read");
    }
    const LibraryCaller caller(*context_);
    return method_.handler({.method = path_,
                            .request = {reinterpret_cast<const char*>(whole.begin()), whole.size()},
                            .deadline = ToDeadline(context_->deadline()),
                            .caller = &caller});
  }

  Deadline ToDeadline(std::chrono::system_clock::time_point at) const {
    if (at == std::chrono::system_clock::time_point::max()) return Deadline::Never();
    return Deadline::In(owner_.clock_, at - std::chrono::system_clock::now());
  }

  // From here on the slot belongs to whichever thread sees the event: touch nothing after Finish.
  void Finish(const Answer& answer) {
    answered_ = true;
    if (answer.status.ok()) {
      writer_->Finish(ToBuffer(answer.bytes), ::grpc::Status::OK, this);
    } else {
      writer_->FinishWithError(ToGrpc(answer.status), this);
    }
  }

  RawService& owner_;
  const int index_;
  const Method& method_;
  const std::string& path_;
  bool answered_ = false;
  ::grpc::ByteBuffer request_;
  std::optional<::grpc::ServerContext> context_;
  std::optional<::grpc::ServerAsyncResponseWriter<::grpc::ByteBuffer>> writer_;
};

RawService::RawService(coppice::grpc::Service service, Workers& workers, const Clock& clock)
    : service_(std::move(service)), workers_(workers), clock_(clock) {
  for (size_t i = 0; i < service_.methods.size(); ++i) {
    paths_.push_back(service_.PathOf(service_.methods[i]));
    AddMethod(new ::grpc::internal::RpcServiceMethod(
        paths_.back().c_str(), ::grpc::internal::RpcMethod::NORMAL_RPC, nullptr));
    MarkMethodRaw(static_cast<int>(i));
  }
}

RawService::~RawService() = default;

void RawService::Clear() { slots_.clear(); }

void RawService::Accept(::grpc::ServerCompletionQueue& queue) {
  queue_ = &queue;
  accepting_ = true;
  for (size_t i = 0; i < service_.methods.size(); ++i) {
    for (int n = 0; n < kAwaitedPerMethod; ++n) {
      slots_.push_back(std::make_unique<Slot>(*this, static_cast<int>(i)));
      slots_.back()->Await();
    }
  }
}

void RawService::Serve(::grpc::ServerCompletionQueue& queue) {
  void* tag = nullptr;
  bool ok = false;
  while (queue.Next(&tag, &ok)) static_cast<Slot*>(tag)->OnEvent(ok);
}

void RawService::Enter() {
  const std::lock_guard lock(mutex_);
  ++running_;
}

void RawService::Leave() {
  const std::lock_guard lock(mutex_);
  if (--running_ == 0) idle_.notify_all();
}

void RawService::StopAccepting() {
  const std::lock_guard lock(mutex_);
  accepting_ = false;
}

void RawService::WaitForHandlers() {
  std::unique_lock lock(mutex_);
  idle_.wait(lock, [this] { return running_ == 0; });
}

}  // namespace coppice::grpc
