// Any bytes as a log: read or refused, never more; and any lines as demand.

#include <cstdint>
#include <string>

#include "rehearse/demand.h"
#include "rehearse/log_file.h"
#include "rehearse/recorded_config.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> notes;
  coppice::rehearse::DemandReader reader;
  const auto line = [&](std::string_view text) { reader.Line(text); };
  (void)coppice::rehearse::ReadFrames(bytes, "log", line, notes);
  // The same as lines, which few mutations of compressed bytes would reach.
  (void)coppice::rehearse::ReadFrames(
      coppice::rehearse::kLogMagic + coppice::rehearse::ToFrames(bytes), "log", line, notes);
  if (const auto demand = std::move(reader).Finish(); demand.ok()) {
    (void)coppice::rehearse::GroupsAsConfig(*demand, 1);
    (void)coppice::rehearse::FlavorsAsConfig(*demand, 1);
  }
  return 0;
}
