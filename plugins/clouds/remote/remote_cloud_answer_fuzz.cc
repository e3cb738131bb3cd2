// Any bytes as the answer of a cloud, or as the question to one: values that hold to what Cloud
// promises, or a failure with a text.

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string_view>

#include "cloud/claim_class.h"
#include "rpc/cloud_messages.h"

namespace {

using namespace coppice;

void Require(bool condition) {
  if (!condition) std::abort();
}

template <class T>
bool Good(const Result<T>& result) {
  if (!result.ok()) Require(!result.status().message().empty());
  return result.ok();
}

bool IsPrice(const std::optional<double>& price) {
  return !price || (std::isfinite(*price) && *price >= 0);
}

void CheckFlavors(const rpc::CloudDescription& description) {
  std::set<std::string> names;
  for (const cloud::Flavor& flavor : description.flavors) {
    Require(!flavor.name.empty() && names.insert(flavor.name).second);
    Require(flavor.cpu_millis > 0 && flavor.memory_bytes > 0 && flavor.disk_bytes >= 0);
    Require(IsPrice(flavor.price_per_hour));
    for (const auto& offering : flavor.offerings) Require(IsPrice(offering.price_per_hour));
    // Whatever a cloud says, a type comes of it or a reason why not.
    (void)Good(cloud::TypeOf(flavor, {}, description.gpu_label, {}));
  }
  if (!description.grid) return;
  Require(description.grid->Mistakes().empty());
  const auto made = description.grid->Choose({{1'500, 3LL << 30}}, {}, 50);
  Require(made.size() <= 50);
  for (const cloud::Flavor& flavor : made) {
    const auto measure = description.grid->Parse(flavor.name);
    Require(measure && description.grid->Sells(*measure));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (const auto machines = rpc::ParseListResponse(bytes); Good(machines)) {
    std::set<std::string> ids;
    for (const cloud::Machine& machine : *machines) {
      Require(!machine.id.empty() && ids.insert(machine.id).second);
      Require(machine.error.has_value() == (machine.state == cloud::MachineState::kFailed));
    }
    Require(rpc::ParseListResponse(rpc::SerializeListResponse(*machines)).ok());
  }
  if (const auto machine = rpc::ParseCreateResponse(bytes); Good(machine)) {
    Require(!machine->id.empty());
  }
  if (const auto description = rpc::ParseFlavorsResponse(bytes); Good(description)) {
    CheckFlavors(*description);
  }
  (void)Good(rpc::ParseValidateResponse(bytes));
  (void)Good(rpc::ParseListRequest(bytes));
  if (const auto spec = rpc::ParseCreateRequest(bytes); Good(spec)) {
    Require(!spec->name.empty());
    (void)rpc::GroupOfSpec(*spec);
  }
  if (const auto id = rpc::ParseMachineDeleteRequest(bytes); Good(id)) Require(!id->empty());
  (void)Good(rpc::ParseValidateRequest(bytes));
  return 0;
}
