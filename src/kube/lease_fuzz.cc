// Any bytes as the Lease that a server sent: read without a crash; and what we write over it reads
// back as what we wrote.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "kube/lease.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto ignored = coppice::kube::ReadLease(text);
  (void)ignored;
  const coppice::kube::LeaseRecord record{"me", 15, "a", "b", 3};
  const std::string written = coppice::kube::WriteLease(text, record, "ns", "name");
  if (!(coppice::kube::ReadLease(written) == record)) std::abort();
  return 0;
}
