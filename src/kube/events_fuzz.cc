// Any text of an event: what goes to the server is JSON that can be read, and within its limits.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "kube/events.h"
#include "model/kinds.h"
#include "wire/wire.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  coppice::kube::EventCorrelator correlator(true);
  const coppice::cluster::Event event{"Pod", "ns", "name", "uid", "Normal", "Reason", text};
  const auto record = correlator.Correlate(event, coppice::TimePoint());
  if (!record || record->event.text.size() > 1024) std::abort();
  if (!coppice::wire::FromJson<coppice::model::Event>(coppice::kube::EventAsJson(*record)).ok())
    std::abort();
  return 0;
}
