#include "grpc/library_log.h"

#include <grpc/support/log.h>

#include <atomic>

namespace coppice::grpc {
namespace {

std::atomic<const Log*> destination = nullptr;

void Write(gpr_log_func_args* args) {
  const Log* log = destination.load();
  if (log == nullptr) return;
  // What the library calls an error is mostly a peer that failed its handshake: news, and no
  // failure of ours.
  const LogLevel level =
      args->severity == GPR_LOG_SEVERITY_ERROR ? LogLevel::kWarning : LogLevel::kDebug;
  log->Write(level, "gRPC library",
             {{"message", args->message}, {"source", args->file}, {"line", args->line}});
}

}  // namespace

void RouteLibraryLog(const Log& log) {
  destination = &log;
  gpr_set_log_function(Write);
}

}  // namespace coppice::grpc
