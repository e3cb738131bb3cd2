#include "rpc/cloud_server.h"

#include <memory>
#include <string>
#include <utility>

#include "rpc/cloud_messages.h"

namespace coppice::rpc {
namespace {

class CloudServer {
 public:
  CloudServer(cloud::Cloud& cloud, const Log& log) : cloud_(cloud), log_(log) {}

  grpc::Answer List(const grpc::Call& call) {
    const auto tags = ParseListRequest(call.request);
    if (!tags.ok()) return tags.status();
    const auto machines = cloud_.List(*tags, call.deadline);
    if (!machines.ok()) return machines.status();
    return SerializeListResponse(*machines);
  }

  grpc::Answer Create(const grpc::Call& call) {
    auto spec = ParseCreateRequest(call.request);
    if (!spec.ok()) return spec.status();
    // The client knows nothing of this cloud's own fields: it sends what the group says.
    spec->extra = cloud_.Extra(GroupOfSpec(*spec));
    const auto machine = cloud_.Create(*spec, call.deadline);
    log_.Info("create", {{"audit", true},
                         {"caller", grpc::Describe(call.caller)},
                         {"name", spec->name},
                         {"flavor", spec->flavor},
                         {"zone", spec->zone},
                         {"id", machine.ok() ? machine->id : std::string()},
                         {"answer", machine.status()}});
    if (!machine.ok()) return machine.status();
    return SerializeCreateResponse(*machine);
  }

  grpc::Answer Delete(const grpc::Call& call) {
    const auto id = ParseMachineDeleteRequest(call.request);
    if (!id.ok()) return id.status();
    if (!cloud_.OwnsId(*id)) return NotFound("'" + *id + "' is not an id of this cloud");
    const Status status = cloud_.Delete(*id, call.deadline);
    log_.Info("delete", {{"audit", true},
                         {"caller", grpc::Describe(call.caller)},
                         {"id", *id},
                         {"answer", status}});
    return status.ok() ? grpc::Answer(grpc::Bytes()) : grpc::Answer(status);
  }

  grpc::Answer Flavors(const grpc::Call& call) {
    auto flavors = cloud_.Flavors(call.deadline);
    if (!flavors.ok()) return flavors.status();
    return SerializeFlavorsResponse({.flavors = *std::move(flavors),
                                     .grid = cloud_.Grid(),
                                     .gpu_label = cloud_.GpuLabel(),
                                     .id_prefix = cloud_.IdPrefix()});
  }

  grpc::Answer Validate(const grpc::Call& call) {
    const auto spec = ParseValidateRequest(call.request);
    if (!spec.ok()) return spec.status();
    const auto mistakes = cloud_.Validate(GroupOfSpec(*spec), call.deadline);
    if (!mistakes.ok()) return mistakes.status();
    return SerializeValidateResponse(*mistakes);
  }

 private:
  cloud::Cloud& cloud_;
  const Log& log_;
};

}  // namespace

grpc::Service CloudService(cloud::Cloud& cloud, const Log& log) {
  const auto server = std::make_shared<CloudServer>(cloud, log);
  using S = CloudServer;
  const auto on = [&server](grpc::Answer (S::*method)(const grpc::Call&)) -> grpc::Handler {
    return [server, method](const grpc::Call& call) { return (server.get()->*method)(call); };
  };
  return {.name = kCloudService,
          .methods = {{.name = "List", .handler = on(&S::List), .waits = true},
                      {.name = "Create", .handler = on(&S::Create), .waits = true},
                      {.name = "Delete", .handler = on(&S::Delete), .waits = true},
                      {.name = "Flavors", .handler = on(&S::Flavors), .waits = true},
                      {.name = "Validate", .handler = on(&S::Validate), .waits = true}}};
}

}  // namespace coppice::rpc
