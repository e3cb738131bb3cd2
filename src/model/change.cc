#include "model/change.h"

#include "model/quantity.h"
#include "model/resources.h"

namespace coppice::model {

namespace {

constexpr int64_t kWholeMebi = int64_t{1} << 20;

}  // namespace

std::string_view ToString(ChangeKind kind) {
  switch (kind) {
    case ChangeKind::kLowerRequest:
      return "LowerRequest";
    case ChangeKind::kTolerate:
      return "Tolerate";
    case ChangeKind::kAllowLabel:
      return "AllowLabel";
    case ChangeKind::kDropLabelDemand:
      return "DropLabelDemand";
    case ChangeKind::kDropHostPorts:
      return "DropHostPorts";
    case ChangeKind::kRaiseSkew:
      return "RaiseSkew";
    case ChangeKind::kDropSpread:
      return "DropSpread";
    case ChangeKind::kDropAffinity:
      return "DropAffinity";
    case ChangeKind::kDropAntiAffinity:
      return "DropAntiAffinity";
    case ChangeKind::kDropVolume:
      return "DropVolume";
    case ChangeKind::kRaiseMaxSize:
      return "RaiseMaxSize";
    case ChangeKind::kRaiseNodesTotal:
      return "RaiseNodesTotal";
    case ChangeKind::kRaiseLimit:
      return "RaiseLimit";
    case ChangeKind::kRaiseMaxPods:
      return "RaiseMaxPods";
    case ChangeKind::kWait:
      return "Wait";
  }
  return "Unknown";
}

std::string AmountText(std::string_view resource, int64_t amount) {
  if (resource == kCpu) return Quantity::FromMillis(amount).Canonical();
  const bool bytes =
      resource == kMemory || resource == kEphemeralStorage || resource.starts_with("hugepages-");
  if (bytes && amount >= kWholeMebi) amount = (amount + kWholeMebi - 1) / kWholeMebi * kWholeMebi;
  const auto format = bytes ? Quantity::Format::kBinarySI : Quantity::Format::kDecimalSI;
  return Quantity::FromUnits(amount, format).Canonical();
}

}  // namespace coppice::model
