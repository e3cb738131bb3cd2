#include "conform/cloud.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <utility>

#include "base/mutex.h"
#include "base/strings.h"
#include "cloud.pb.h"

namespace coppice::conform {
namespace {

namespace cpb = coppice::cloud::v1;

constexpr char kOverTheWire[] = "docs/extending/cloud.md#in-any-language-over-grpc";
constexpr char kCloudServiceName[] = "coppice.cloud.v1.Cloud";
constexpr char kRunTag[] = "coppice-conform";
constexpr size_t kListsAtOnce = 10;                          // as many threads as call a cloud
constexpr std::string_view kFieldOfLater = "\xC2\x3E\x01x";  // number 1000, the text "x"

class CloudProbe {
 public:
  CloudProbe(const CloudOptions& probe_options, Transport transport, Clock& clock)
      : options(probe_options),
        calls(std::move(transport), clock, kCloudServiceName, options.timeout) {}

  Status Alive() const {
    const auto answer = calls.Bytes("Flavors", "");
    const bool gone =
        answer.code() == Code::kUnavailable || answer.code() == Code::kDeadlineExceeded;
    return gone ? answer.status() : Status::Ok();
  }
  Result<std::vector<cpb::Machine>> List(const std::string& run) const {
    cpb::ListRequest request;
    (*request.mutable_tags())[kRunTag] = run;
    const auto answer = TRY(calls.Ask<cpb::ListResponse>("List", request));
    return std::vector<cpb::Machine>(answer.machines().begin(), answer.machines().end());
  }
  // Named after the run, too: to a cloud that takes a name for the order, a machine of an earlier
  // run, or of anybody, is none of this one.
  std::string Name(std::string_view which) const {
    return fmt::format("coppice-conform-{}-{}", options.run, which);
  }
  bool IsOurs(const cpb::Machine& machine) const {
    const auto tag = machine.tags().find(kRunTag);
    return tag != machine.tags().end() && tag->second == options.run;
  }
  // A server that ignores tags lists strangers: what does not carry ours is not ours.
  Result<std::vector<cpb::Machine>> Ours() const {
    auto machines = TRY(List(options.run));
    std::erase_if(machines, [this](const cpb::Machine& machine) { return !IsOurs(machine); });
    return machines;
  }
  // Whether a list by our tag has shown what was ordered: only then is it deleted.
  bool FirstIsShown() {
    if (shown || !first) return shown;
    const auto machines = Ours();
    shown = machines.ok() &&
            std::ranges::find(*machines, first->id(), &cpb::Machine::id) != machines->end();
    return shown;
  }
  // Ours that are not going.
  Result<std::vector<cpb::Machine>> Staying() const {
    auto machines = TRY(Ours());
    std::erase_if(machines, [](const cpb::Machine& machine) {
      return machine.state() == cpb::MACHINE_STATE_DELETING;
    });
    return machines;
  }
  cpb::CreateRequest Order(const std::string& name, const std::string& flavor) const {
    cpb::CreateRequest request;
    cpb::MachineSpec& spec = *request.mutable_spec();
    spec.set_name(name);
    spec.set_flavor(flavor);
    spec.set_zone(options.zone);
    spec.set_image(options.image);
    (*spec.mutable_tags())[kRunTag] = options.run;
    (*spec.mutable_tags())["k8s-cluster"] = options.run;
    return request;
  }
  Result<cpb::Machine> Create(const std::string& name, const std::string& flavor) const {
    return TRY(calls.Ask<cpb::CreateResponse>("Create", Order(name, flavor))).machine();
  }
  Status Delete(const std::string& id) const {
    cpb::DeleteRequest request;
    request.set_id(id);
    return calls.Ask<cpb::DeleteResponse>("Delete", request).status();
  }
  bool Wait(const std::function<bool()>& look) const {
    const Deadline deadline = Deadline::In(calls.clock(), options.patience);
    Duration pause = std::chrono::milliseconds(100);
    while (!look()) {
      if (deadline.Passed(calls.clock())) return false;
      calls.clock().SleepFor(std::min(pause, deadline.Left(calls.clock())));
      pause = std::min<Duration>(pause * 2, std::chrono::seconds(5));
    }
    return true;
  }
  std::optional<Outcome> CannotOrder() const {
    if (!options.flavor.empty()) return std::nullopt;
    return NotApplicable("nothing is ordered or deleted without --grow=FLAVOR");
  }

  const CloudOptions& options;
  Calls calls;
  bool lists = false;
  cpb::FlavorsResponse flavors;
  std::optional<cpb::Machine> first;  // what was ordered, if it carries our tag
  bool shown = false;
  bool deleted = false;  // and has gone
};

Outcome FlavorsAnswered(CloudProbe& probe) {
  const auto answer = probe.calls.Ask<cpb::FlavorsResponse>("Flavors", cpb::FlavorsRequest());
  if (!answer.ok()) return Failed(answer.status().ToString());
  probe.flavors = *answer;
  if (answer->flavors().empty() && !answer->has_grid()) return Failed("nothing is for sale");
  return Passed(fmt::format("{} flavors", answer->flavors_size()));
}

Outcome FlavorsWhole(CloudProbe& probe) {
  std::set<std::string> names;
  for (const cpb::Flavor& flavor : probe.flavors.flavors()) {
    if (flavor.name().empty()) return Failed("a flavor has no name");
    if (!names.insert(flavor.name()).second)
      return Failed("'" + flavor.name() + "' is there twice");
    if (flavor.cpu_millis() <= 0 || flavor.memory_bytes() <= 0) {
      return Failed(fmt::format("'{}' has {} of cpu_millis and {} of memory_bytes", flavor.name(),
                                flavor.cpu_millis(), flavor.memory_bytes()));
    }
    if ((flavor.gpu_count() > 0) == flavor.gpu_type().empty()) {
      return Failed("'" + flavor.name() + "' has GPUs without a type, or a type without GPUs");
    }
    if (flavor.has_price_per_hour() &&
        (!std::isfinite(flavor.price_per_hour()) || flavor.price_per_hour() < 0)) {
      return Failed(fmt::format("'{}' costs {}", flavor.name(), flavor.price_per_hour()));
    }
  }
  return names.empty() ? NotApplicable("no flavor is listed") : Passed();
}

Outcome ListByTag(CloudProbe& probe) {
  const auto machines = probe.List(probe.options.run + "-nobody");
  if (!machines.ok()) return Failed(machines.status().ToString());
  probe.lists = true;
  if (machines->empty()) return Passed();
  return Failed(
      fmt::format("{} machines are listed for a tag that nobody has, '{}' among them: only "
                  "those with all tags may be",
                  machines->size(), machines->front().id()));
}

Outcome DeleteUnknown(CloudProbe& probe) {
  const Status answer = probe.Delete(probe.flavors.id_prefix() + probe.Name("nobody"));
  if (answer.code() == Code::kNotFound) return Passed();
  return Failed("deleting what is not there is answered with " + answer.ToString() +
                ", and should be NotFound");
}

Outcome OrderOfUnknownFlavor(CloudProbe& probe) {
  if (const auto cannot = probe.CannotOrder()) return *cannot;
  const auto answer = probe.Create(probe.Name("wrong"), "coppice-conform-no-such-flavor");
  if (answer.ok()) return Failed("a flavor that does not exist can be ordered");
  if (answer.code() == Code::kInvalidArgument || answer.code() == Code::kFailedPrecondition) {
    return Passed();
  }
  return Failed(answer.status().ToString() +
                ": a wrong order is InvalidArgument, or it is repeated for ever");
}

Outcome CreateAnswers(CloudProbe& probe) {
  if (const auto cannot = probe.CannotOrder()) return *cannot;
  const std::string name = probe.Name("1");
  const auto machine = probe.Create(name, probe.options.flavor);
  if (!machine.ok()) return Failed(machine.status().ToString());
  if (machine->id().empty()) return Failed("the machine has no id");
  if (machine->name() != name) {
    return Failed("the machine is called '" + machine->name() + "' and not as ordered");
  }
  if (!probe.IsOurs(*machine)) return Failed("the machine lacks the tags of its order");
  probe.first = *machine;
  return Passed(machine->id());
}

Outcome IdsHavePrefix(CloudProbe& probe) {
  if (!probe.first) return NotApplicable("nothing was ordered");
  const std::string& prefix = probe.flavors.id_prefix();
  if (prefix.empty()) return NotApplicable("no id_prefix is said");
  if (probe.first->id().starts_with(prefix)) return Passed();
  return Failed(fmt::format("'{}' does not begin with '{}'", probe.first->id(), prefix));
}

Outcome CreatedIsListed(CloudProbe& probe) {
  if (!probe.first) return NotApplicable("nothing was ordered");
  std::string seen;
  const bool listed = probe.Wait([&] {
    const auto machines = probe.Ours();
    if (!machines.ok() || machines->size() != 1) return false;
    seen = machines->front().id();
    return seen == probe.first->id();
  });
  if (listed) return Passed();
  return Failed(seen.empty() ? "a list by its tag does not show the machine, or not with its tags"
                             : "it is listed as '" + seen + "' and was created as '" +
                                   probe.first->id() + "'");
}

Outcome RepeatedOrder(CloudProbe& probe) {
  if (!probe.first) return NotApplicable("nothing was ordered");
  const auto again = probe.Create(probe.Name("1"), probe.options.flavor);
  if (again.ok() ? again->id() == probe.first->id() : again.code() == Code::kAlreadyExists) {
    return Passed();
  }
  return Failed(again.ok() ? "an order repeated under its name bought '" + again->id() + "' as well"
                           : "an order repeated under its name: " + again.status().ToString());
}

Outcome DeleteEnds(CloudProbe& probe) {
  if (!probe.first) return NotApplicable("nothing was ordered");
  if (!probe.FirstIsShown()) {
    return NotApplicable("the machine is in no list by its tag, and only what is there is deleted");
  }
  const Status answer = probe.Delete(probe.first->id());
  if (!answer.ok()) return Failed(answer.ToString());
  probe.deleted = probe.Wait([&] {
    const auto machines = probe.Staying();
    return machines.ok() && std::ranges::none_of(*machines, [&](const cpb::Machine& machine) {
             return machine.id() == probe.first->id();
           });
  });
  return probe.deleted ? Passed() : Failed("the machine is deleted and still listed as there");
}

Outcome DeleteOfGone(CloudProbe& probe) {
  if (!probe.deleted) return NotApplicable("no machine has gone");
  const bool absent = probe.Wait([&] {
    const auto machines = probe.Ours();
    return machines.ok() && std::ranges::none_of(*machines, [&](const cpb::Machine& machine) {
             return machine.id() == probe.first->id();
           });
  });
  if (!absent) return NotApplicable("the machine is listed as deleting");
  const Status answer = probe.Delete(probe.first->id());
  if (answer.code() == Code::kNotFound) return Passed();
  return Failed("deleting what is gone is answered with " + answer.ToString());
}

Outcome CreateCutShort(CloudProbe& probe) {
  if (!probe.first) return NotApplicable("an order fails even with time");
  const std::string name = probe.Name("2");
  const std::string bytes = probe.Order(name, probe.options.flavor).SerializeAsString();
  for (int i = 0; i < 3; ++i) {
    (void)probe.calls.Bytes("Create", bytes, std::chrono::milliseconds(1));
  }
  const auto machine = probe.Create(name, probe.options.flavor);
  if (!machine.ok() && machine.code() != Code::kAlreadyExists) {
    return Failed("repeated with time: " + machine.status().ToString());
  }
  size_t count = 0;
  const bool one = probe.Wait([&] {
    const auto machines = probe.Staying();
    if (!machines.ok()) return false;
    count = static_cast<size_t>(std::ranges::count(*machines, name, &cpb::Machine::name));
    return count == 1;
  });
  if (one) return Passed();
  return Failed(
      fmt::format("an order that was cut off and repeated has bought {} machines", count));
}

Outcome NothingLeft(CloudProbe& probe) {
  if (const auto cannot = probe.CannotOrder()) return *cannot;
  (void)probe.FirstIsShown();
  const auto machines = probe.Staying();
  if (!machines.ok()) return Failed("the machines cannot be read: " + machines.status().ToString());
  for (const cpb::Machine& machine : *machines) (void)probe.Delete(machine.id());
  std::vector<std::string> left;
  (void)probe.Wait([&] {
    left.clear();
    const auto now = probe.Staying();
    if (!now.ok()) return false;
    for (const cpb::Machine& machine : *now) left.push_back(machine.id());
    return left.empty();
  });
  if (left.empty()) {
    if (!probe.first || probe.deleted || probe.shown) return Passed();
    return NotApplicable("left behind, for no list by its tag shows it: " + probe.first->id());
  }
  if (probe.first && !probe.deleted) {
    return NotApplicable("deletes do nothing; left behind: " + Join(left, ", "));
  }
  return Failed("left behind: " + Join(left, ", "));
}

Outcome ListsAtOnce(CloudProbe& probe) {
  if (!probe.lists) return NotApplicable("List fails");
  Mutex mutex;
  std::string wrong;
  AtOnce(kListsAtOnce, [&](size_t) {
    for (int round = 0; round < 4; ++round) {
      const Status status = probe.Ours().status();
      if (status.ok()) continue;
      const MutexLock lock(mutex);
      wrong = status.ToString();
      return;
    }
  });
  return wrong.empty() ? Passed()
                       : Failed(fmt::format("{} lists at once: {}", kListsAtOnce, wrong));
}

Outcome FieldsOfLater(CloudProbe& probe) {
  const auto answer = probe.calls.Bytes("Flavors", kFieldOfLater);
  if (answer.ok() || !probe.calls.Bytes("Flavors", "").ok()) return Passed();
  return Failed("Flavors with a field of a later version: " + answer.status().ToString());
}

Outcome MethodOfLater(CloudProbe& probe) {
  const auto answer = probe.calls.Bytes("VerbOfALaterVersion", "");
  if (answer.code() == Code::kUnimplemented) return Passed();
  return Failed("a method that does not exist is answered with " +
                (answer.ok() ? "OK" : answer.status().ToString()));
}

Outcome NonsenseRequest(CloudProbe& probe) {
  if (probe.calls.Bytes("List", "\xFF\xFF\xFF\xFF").ok()) {
    return Failed("bytes that are no message are answered with OK");
  }
  const Status after = probe.Alive();
  return after.ok() ? Passed() : Failed("afterwards: " + after.ToString());
}

constexpr Rule<CloudProbe> kCloudRules[] = {
    {"flavors", "something is for sale", kOverTheWire, FlavorsAnswered},
    {"flavors-whole", "flavors have names of their own, cpu, memory, and prices of 0 or more",
     kOverTheWire, FlavorsWhole},
    {"list-by-tag", "a list has machines that carry all tags, and no others", kOverTheWire,
     ListByTag},
    {"delete-unknown", "deleting what is not there is NotFound", kOverTheWire, DeleteUnknown},
    {"order-of-unknown-flavor", "an order that is wrong is InvalidArgument", kOverTheWire,
     OrderOfUnknownFlavor},
    {"create", "an order is answered with the machine: id, name and tags", kOverTheWire,
     CreateAnswers},
    {"id-prefix", "ids begin as Flavors says", kOverTheWire, IdsHavePrefix},
    {"created-is-listed", "a list by its tags shows the machine under its id", kOverTheWire,
     CreatedIsListed},
    {"repeated-order", "an order repeated under its name is bought once", kOverTheWire,
     RepeatedOrder},
    {"delete", "a deleted machine goes", kOverTheWire, DeleteEnds},
    {"delete-of-gone", "deleting what is gone is NotFound", kOverTheWire, DeleteOfGone},
    {"create-cut-short", "an order whose caller has left, and that is repeated, is bought once",
     kOverTheWire, CreateCutShort},
    {"leaves-nothing", "everything that was ordered here can be deleted again", kOverTheWire,
     NothingLeft},
    {"parallel-lists", "ten lists at once are answered", kOverTheWire, ListsAtOnce},
    {"unknown-fields", "fields that you do not know are no error", kOverTheWire, FieldsOfLater},
    {"unknown-method", "a method that you do not have is Unimplemented", kOverTheWire,
     MethodOfLater},
    {"garbage-request", "bytes that are no message are refused, and the server goes on",
     kOverTheWire, NonsenseRequest},
};

}  // namespace

std::vector<RuleText> CloudRules() {
  return TextsOf(std::span<const Rule<CloudProbe>>(kCloudRules));
}

Report TryCloud(const CloudOptions& options, Transport transport, Clock& clock) {
  CloudProbe probe(options, std::move(transport), clock);
  return Play(std::span<const Rule<CloudProbe>>(kCloudRules), probe, options.play, clock);
}

}  // namespace coppice::conform
