// One Service on a completion queue of the gRPC library. Internal to this module: only server.cc
// includes it.

#pragma once

#include <grpcpp/grpcpp.h>
#include <grpcpp/impl/codegen/service_type.h>

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/pool.h"
#include "grpc/handler.h"

namespace coppice::grpc {

class RawService final : public ::grpc::Service {
 public:
  RawService(coppice::grpc::Service service, Workers& workers, const Clock& clock);
  ~RawService() override;

  const std::string& name() const { return service_.name; }

  // Asks the library for calls; before the first Serve().
  void Accept(::grpc::ServerCompletionQueue& queue);
  // Handles what comes from `queue`, for every service on it, until it is shut down and empty.
  static void Serve(::grpc::ServerCompletionQueue& queue);
  // Asks for no more calls. From its return on the queue may be shut down as soon as no handler
  // runs.
  void StopAccepting();
  // Until no worker runs a handler of this service.
  void WaitForHandlers();
  // After the queue is empty: lets go of what belongs to the library.
  void Clear();

 private:
  class Slot;  // one call in progress or awaited; reused for the next one

  void Enter();
  void Leave();

  const coppice::grpc::Service service_;
  Workers& workers_;
  const Clock& clock_;
  ::grpc::ServerCompletionQueue* queue_ = nullptr;
  std::deque<std::string> paths_;  // the library keeps pointers to them
  std::vector<std::unique_ptr<Slot>> slots_;

  std::mutex mutex_;
  std::condition_variable idle_;
  int running_ = 0;         // handlers on workers
  bool accepting_ = false;  // a call may be asked for; asking on a queue that is shut down aborts
};

}  // namespace coppice::grpc
