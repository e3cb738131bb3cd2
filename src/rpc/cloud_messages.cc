#include "rpc/cloud_messages.h"

#include <cmath>
#include <set>

#include "base/strings.h"
#include "cloud.pb.h"

namespace coppice::rpc {
namespace {

namespace pb = ::coppice::cloud::v1;

template <class Message>
Result<Message> ReadCloudMessage(std::string_view bytes, const char* what) {
  Message message;
  if (bytes.size() > (1UL << 30) ||
      !message.ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return InvalidArgument(std::string("the bytes are not a well-formed ") + what);
  }
  return message;
}

template <class Map>
std::map<std::string, std::string> TextsOfMap(const Map& map) {
  return {map.begin(), map.end()};
}
template <class Map>
void PutTexts(const std::map<std::string, std::string>& texts, Map& map) {
  for (const auto& [key, value] : texts) map[key] = value;
}

cloud::MachineState StateOf(pb::MachineState state) {
  switch (state) {
    case pb::MACHINE_STATE_RUNNING:
      return cloud::MachineState::kRunning;
    case pb::MACHINE_STATE_STOPPED:
      return cloud::MachineState::kStopped;
    case pb::MACHINE_STATE_DELETING:
      return cloud::MachineState::kDeleting;
    case pb::MACHINE_STATE_FAILED:
      return cloud::MachineState::kFailed;
    default:
      return cloud::MachineState::kCreating;  // also what a later version may add
  }
}

pb::MachineState StateOf(cloud::MachineState state) {
  switch (state) {
    case cloud::MachineState::kRunning:
      return pb::MACHINE_STATE_RUNNING;
    case cloud::MachineState::kStopped:
      return pb::MACHINE_STATE_STOPPED;
    case cloud::MachineState::kDeleting:
      return pb::MACHINE_STATE_DELETING;
    case cloud::MachineState::kFailed:
      return pb::MACHINE_STATE_FAILED;
    case cloud::MachineState::kCreating:
      break;
  }
  return pb::MACHINE_STATE_CREATING;
}

Result<cloud::Machine> MachineOf(const pb::Machine& from) {
  if (from.id().empty()) {
    return Internal("machine '" + from.name() + "' has no id; the cloud must give every one an id");
  }
  cloud::Machine machine{.id = from.id(),
                         .name = from.name(),
                         .flavor = from.flavor(),
                         .zone = from.zone(),
                         .tags = TextsOfMap(from.tags()),
                         .state = StateOf(from.state()),
                         .capacity_type = from.capacity_type(),
                         .image = from.image()};
  if (machine.state == cloud::MachineState::kFailed) {
    machine.error =
        cloud::MachineError{from.error().out_of_resources() ? cloud::ErrorClass::kOutOfResources
                                                            : cloud::ErrorClass::kOther,
                            from.error().code(), from.error().message()};
  }
  // The years 1970 to 9999, as protobuf has it; what lies outside was not meant.
  constexpr int64_t kLastSecond = 253'402'300'799;
  const auto& time = from.created_at();
  if (time.seconds() > 0 && time.seconds() <= kLastSecond && time.nanos() >= 0 &&
      time.nanos() < 1'000'000'000 && time.seconds() < 9'000'000'000) {
    machine.created_at =
        TimePoint(std::chrono::duration_cast<Duration>(std::chrono::seconds(time.seconds())) +
                  std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(time.nanos())));
  }
  return machine;
}

void PutMachine(const cloud::Machine& from, pb::Machine& to) {
  to.set_id(from.id);
  to.set_name(from.name);
  to.set_flavor(from.flavor);
  to.set_zone(from.zone);
  PutTexts(from.tags, *to.mutable_tags());
  to.set_state(StateOf(from.state));
  if (from.error) {
    to.mutable_error()->set_out_of_resources(from.error->error_class ==
                                             cloud::ErrorClass::kOutOfResources);
    to.mutable_error()->set_code(from.error->code);
    to.mutable_error()->set_message(from.error->message);
  }
  if (from.created_at > TimePoint{}) {
    const auto nanos =
        std::chrono::duration_cast<std::chrono::nanoseconds>(from.created_at.time_since_epoch())
            .count();
    to.mutable_created_at()->set_seconds(nanos / 1'000'000'000);
    to.mutable_created_at()->set_nanos(static_cast<int32_t>(nanos % 1'000'000'000));
  }
  to.set_capacity_type(from.capacity_type);
  to.set_image(from.image);
}

void PutSpec(const cloud::MachineSpec& from, pb::MachineSpec& to) {
  to.set_name(from.name);
  to.set_flavor(from.flavor);
  to.set_zone(from.zone);
  to.set_image(from.image);
  to.set_disk_bytes(from.disk_bytes);
  PutTexts(from.tags, *to.mutable_tags());
  to.set_user_data(from.user_data);
  PutTexts(from.extra, *to.mutable_extra());
  to.set_capacity_type(from.capacity_type);
}

cloud::MachineSpec SpecOf(const pb::MachineSpec& from) {
  return {.name = from.name(),
          .flavor = from.flavor(),
          .zone = from.zone(),
          .image = from.image(),
          .disk_bytes = from.disk_bytes(),
          .tags = TextsOfMap(from.tags()),
          .user_data = from.user_data(),
          .extra = TextsOfMap(from.extra()),
          .capacity_type = from.capacity_type()};
}

bool IsPrice(double price) { return std::isfinite(price) && price >= 0; }

Result<cloud::Flavor> FlavorOf(const pb::Flavor& from) {
  const auto wrong = [&from](const std::string& what) {
    return Internal("flavor '" + from.name() + "': " + what);
  };
  if (from.name().empty()) return Internal("a flavor has no name");
  if (from.cpu_millis() <= 0 || from.memory_bytes() <= 0)
    return wrong("cpu and memory must be positive");
  if (from.disk_bytes() < 0 || from.gpu_count() < 0 || from.max_pods() < 0)
    return wrong("an amount is negative");
  cloud::Flavor flavor{.name = from.name(),
                       .cpu_millis = from.cpu_millis(),
                       .memory_bytes = from.memory_bytes(),
                       .disk_bytes = from.disk_bytes(),
                       .gpu_type = from.gpu_type(),
                       .gpu_count = from.gpu_count(),
                       .zones = {from.zones().begin(), from.zones().end()},
                       .in_stock = !from.out_of_stock(),
                       .max_pods = from.max_pods()};
  if (!from.architecture().empty()) flavor.architecture = from.architecture();
  if (!from.operating_system().empty()) flavor.operating_system = from.operating_system();
  if (from.has_price_per_hour()) {
    if (!IsPrice(from.price_per_hour())) return wrong("its price is none");
    flavor.price_per_hour = from.price_per_hour();
  }
  for (const pb::Offering& sold : from.offerings()) {
    cloud::FlavorOffering offering{.zone = sold.zone(), .in_stock = !sold.out_of_stock()};
    if (!sold.capacity_type().empty()) offering.capacity_type = sold.capacity_type();
    if (sold.has_price_per_hour()) {
      if (!IsPrice(sold.price_per_hour())) return wrong("the price of an offering is none");
      offering.price_per_hour = sold.price_per_hour();
    }
    flavor.offerings.push_back(std::move(offering));
  }
  for (const auto& [resource, amount] : from.resources()) {
    if (amount < 0) return wrong("it has a negative amount of " + resource);
    flavor.resources[resource] = amount;
  }
  return flavor;
}

void PutFlavor(const cloud::Flavor& from, pb::Flavor& to) {
  to.set_name(from.name);
  to.set_cpu_millis(from.cpu_millis);
  to.set_memory_bytes(from.memory_bytes);
  to.set_disk_bytes(from.disk_bytes);
  to.set_architecture(from.architecture);
  to.set_gpu_type(from.gpu_type);
  to.set_gpu_count(from.gpu_count);
  for (const std::string& zone : from.zones) to.add_zones(zone);
  if (from.price_per_hour) to.set_price_per_hour(*from.price_per_hour);
  to.set_out_of_stock(!from.in_stock);
  for (const cloud::FlavorOffering& sold : from.offerings) {
    pb::Offering& offering = *to.add_offerings();
    offering.set_zone(sold.zone);
    offering.set_capacity_type(sold.capacity_type);
    if (sold.price_per_hour) offering.set_price_per_hour(*sold.price_per_hour);
    offering.set_out_of_stock(!sold.in_stock);
  }
  to.set_operating_system(from.operating_system);
  to.set_max_pods(from.max_pods);
  for (const auto& [resource, amount] : from.resources)
    (*to.mutable_resources())[resource] = amount;
}

Result<cloud::FlavorGrid> GridOf(const pb::Grid& from) {
  cloud::FlavorGrid grid{.prefix = from.prefix(),
                         .min_cpu_millis = from.min_cpu_millis(),
                         .max_cpu_millis = from.max_cpu_millis(),
                         .cpu_step_millis = from.cpu_step_millis(),
                         .min_memory_bytes = from.min_memory_bytes(),
                         .max_memory_bytes = from.max_memory_bytes(),
                         .memory_step_bytes = from.memory_step_bytes(),
                         .min_gib_per_cpu = from.min_gib_per_cpu(),
                         .max_gib_per_cpu = from.max_gib_per_cpu(),
                         .base_price = from.base_price(),
                         .price_per_cpu = from.price_per_cpu(),
                         .price_per_gib = from.price_per_gib(),
                         .disk_bytes = from.disk_bytes(),
                         .zones = {from.zones().begin(), from.zones().end()}};
  if (from.has_spot_factor()) grid.spot_factor = from.spot_factor();
  if (!from.architecture().empty()) grid.architecture = from.architecture();
  const auto mistakes = grid.Mistakes();
  if (!mistakes.empty()) return Internal(Join(mistakes, "; "));
  return grid;
}

void PutGrid(const cloud::FlavorGrid& from, pb::Grid& to) {
  to.set_prefix(from.prefix);
  to.set_min_cpu_millis(from.min_cpu_millis);
  to.set_max_cpu_millis(from.max_cpu_millis);
  to.set_cpu_step_millis(from.cpu_step_millis);
  to.set_min_memory_bytes(from.min_memory_bytes);
  to.set_max_memory_bytes(from.max_memory_bytes);
  to.set_memory_step_bytes(from.memory_step_bytes);
  to.set_min_gib_per_cpu(from.min_gib_per_cpu);
  to.set_max_gib_per_cpu(from.max_gib_per_cpu);
  to.set_base_price(from.base_price);
  to.set_price_per_cpu(from.price_per_cpu);
  to.set_price_per_gib(from.price_per_gib);
  if (from.spot_factor) to.set_spot_factor(*from.spot_factor);
  to.set_disk_bytes(from.disk_bytes);
  to.set_architecture(from.architecture);
  for (const std::string& zone : from.zones) to.add_zones(zone);
}

}  // namespace

std::string SerializeListRequest(const cloud::Tags& tags) {
  pb::ListRequest message;
  PutTexts(tags, *message.mutable_tags());
  return message.SerializeAsString();
}
std::string SerializeCreateRequest(const cloud::MachineSpec& spec) {
  pb::CreateRequest message;
  PutSpec(spec, *message.mutable_spec());
  return message.SerializeAsString();
}
std::string SerializeDeleteRequest(const cloud::ProviderId& id) {
  pb::DeleteRequest message;
  message.set_id(id);
  return message.SerializeAsString();
}
std::string SerializeValidateRequest(const cloud::MachineSpec& spec) {
  pb::ValidateRequest message;
  PutSpec(spec, *message.mutable_spec());
  return message.SerializeAsString();
}

Result<std::vector<cloud::Machine>> ParseListResponse(std::string_view bytes) {
  const auto message = TRY(ReadCloudMessage<pb::ListResponse>(bytes, "ListResponse"));
  std::vector<cloud::Machine> machines;
  machines.reserve(static_cast<size_t>(message.machines_size()));
  std::set<std::string_view> ids;
  for (const pb::Machine& from : message.machines()) {
    machines.push_back(TRY(MachineOf(from)));
    if (!ids.insert(from.id()).second)
      return Internal("machine '" + from.id() + "' is listed twice");
  }
  return machines;
}
Result<cloud::Machine> ParseCreateResponse(std::string_view bytes) {
  const auto message = TRY(ReadCloudMessage<pb::CreateResponse>(bytes, "CreateResponse"));
  return MachineOf(message.machine());
}
Result<CloudDescription> ParseFlavorsResponse(std::string_view bytes) {
  const auto message = TRY(ReadCloudMessage<pb::FlavorsResponse>(bytes, "FlavorsResponse"));
  CloudDescription description{.gpu_label = message.gpu_label(), .id_prefix = message.id_prefix()};
  std::set<std::string_view> names;
  for (const pb::Flavor& from : message.flavors()) {
    description.flavors.push_back(TRY(FlavorOf(from)));
    if (!names.insert(from.name()).second)
      return Internal("flavor '" + from.name() + "' is listed twice");
  }
  if (message.has_grid()) description.grid = TRY(GridOf(message.grid()));
  return description;
}
Result<std::vector<std::string>> ParseValidateResponse(std::string_view bytes) {
  const auto message = TRY(ReadCloudMessage<pb::ValidateResponse>(bytes, "ValidateResponse"));
  return std::vector<std::string>(message.mistakes().begin(), message.mistakes().end());
}

Result<cloud::Tags> ParseListRequest(std::string_view bytes) {
  return TextsOfMap(TRY(ReadCloudMessage<pb::ListRequest>(bytes, "ListRequest")).tags());
}
Result<cloud::MachineSpec> ParseCreateRequest(std::string_view bytes) {
  const auto message = TRY(ReadCloudMessage<pb::CreateRequest>(bytes, "CreateRequest"));
  if (message.spec().name().empty()) return InvalidArgument("the order has no name");
  return SpecOf(message.spec());
}
Result<cloud::ProviderId> ParseMachineDeleteRequest(std::string_view bytes) {
  const auto message = TRY(ReadCloudMessage<pb::DeleteRequest>(bytes, "DeleteRequest"));
  if (message.id().empty()) return InvalidArgument("the request names no machine");
  return message.id();
}
Result<cloud::MachineSpec> ParseValidateRequest(std::string_view bytes) {
  return SpecOf(TRY(ReadCloudMessage<pb::ValidateRequest>(bytes, "ValidateRequest")).spec());
}

std::string SerializeListResponse(const std::vector<cloud::Machine>& machines) {
  pb::ListResponse message;
  for (const cloud::Machine& machine : machines) PutMachine(machine, *message.add_machines());
  return message.SerializeAsString();
}
std::string SerializeCreateResponse(const cloud::Machine& machine) {
  pb::CreateResponse message;
  PutMachine(machine, *message.mutable_machine());
  return message.SerializeAsString();
}
std::string SerializeFlavorsResponse(const CloudDescription& description) {
  pb::FlavorsResponse message;
  for (const cloud::Flavor& flavor : description.flavors) {
    PutFlavor(flavor, *message.add_flavors());
  }
  if (description.grid) PutGrid(*description.grid, *message.mutable_grid());
  message.set_gpu_label(description.gpu_label);
  message.set_id_prefix(description.id_prefix);
  return message.SerializeAsString();
}
std::string SerializeValidateResponse(const std::vector<std::string>& mistakes) {
  pb::ValidateResponse message;
  for (const std::string& mistake : mistakes) message.add_mistakes(mistake);
  return message.SerializeAsString();
}

}  // namespace coppice::rpc
