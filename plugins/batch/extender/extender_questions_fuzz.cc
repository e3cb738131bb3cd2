// Whatever the reference server is asked, it answers or refuses.

#include <cstddef>
#include <cstdint>
#include <string>

#include "plugins/batch/extender/reference_server.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string body(reinterpret_cast<const char*>(data), size);
  coppice::batch::extender::ReferenceServer server;
  for (const char* verb :
       {"onSessionOpen", "predicate", "batchPredicate", "prioritize", "preemptable", "bind"}) {
    coppice::net::ServerRequest request;
    request.method = "POST";
    request.path = std::string("/") + verb;
    request.body = body;
    const int status = server.Answer(request).status;
    if (status != 200 && status != 400) __builtin_trap();
  }
  return 0;
}
