// Orders: machines are bought in the one group that was named for it.

#include <fmt/format.h>

#include <algorithm>

#include "conform/provider_probe.h"

namespace coppice::conform {
namespace {

constexpr int kOrdered = 3;  // one to delete alone, two to delete at once

const pb::NodeGroup& GrownGroup(const ProviderProbe& probe) {
  return *std::ranges::find_if(
      probe.groups, [&](const pb::NodeGroup& group) { return group.id() == probe.options.grow; });
}

// Machines that are listed and were not before our order.
Result<std::vector<pb::Instance>> NewMachines(const ProviderProbe& probe) {
  std::vector<pb::Instance> fresh;
  for (const pb::Instance& one : TRY(probe.Instances(probe.options.grow))) {
    if (!Going(one) && !probe.order->before.contains(one.id())) fresh.push_back(one);
  }
  return fresh;
}

// A refusal that changed nothing, or what it did.
std::optional<Outcome> NotRefused(const ProviderProbe& probe, int delta, int before) {
  const Status answer = probe.Increase(probe.options.grow, delta);
  if (answer.ok()) {
    return Failed(fmt::format("an increase by {} is answered with OK", delta));
  }
  const auto after = probe.TargetSize(probe.options.grow);
  if (!after.ok() || *after == before) return std::nullopt;
  return Failed(fmt::format("an increase by {} is refused, and the target is {} where it was {}",
                            delta, *after, before));
}

}  // namespace

Outcome OrderOfNothing(ProviderProbe& probe) {
  if (const auto cannot = probe.CannotChange()) return *cannot;
  const auto before = probe.TargetSize(probe.options.grow);
  if (!before.ok()) return NotApplicable("the target cannot be read");
  for (const int delta : {0, -1}) {
    if (const auto wrong = NotRefused(probe, delta, *before)) return *wrong;
  }
  return Passed();
}

Outcome OrderAboveMaximum(ProviderProbe& probe) {
  if (const auto cannot = probe.CannotChange()) return *cannot;
  const auto before = probe.TargetSize(probe.options.grow);
  if (!before.ok()) return NotApplicable("the target cannot be read");
  const int64_t delta = int64_t{GrownGroup(probe).maxsize()} - *before + 1;
  if (delta <= 0) return NotApplicable("the group is above its maximum already");
  if (delta > probe.options.at_most) {
    return NotApplicable(fmt::format(
        "a server that did not refuse would order {} machines; --at-most is {}, or take a smaller "
        "group",
        delta, probe.options.at_most));
  }
  // Whatever a server that takes it orders is ours, and has to go again.
  ProviderProbe::Order order{.target_before = *before, .count = static_cast<int>(delta)};
  const auto machines = probe.Instances(probe.options.grow);
  if (!machines.ok()) return NotApplicable("the machines cannot be read");
  for (const pb::Instance& one : *machines) order.before.insert(one.id());
  const auto wrong = NotRefused(probe, static_cast<int>(delta), *before);
  if (!wrong) return Passed();
  probe.order = std::move(order);
  (void)probe.Wait([&] {
    const auto fresh = NewMachines(probe);
    return fresh.ok() && fresh->size() >= static_cast<size_t>(delta);
  });
  if (const auto fresh = NewMachines(probe);
      fresh.ok() && fresh->size() <= static_cast<size_t>(delta)) {
    for (const pb::Instance& one : *fresh) (void)probe.Delete(probe.options.grow, {one.id()});
  }
  probe.order.reset();
  return *wrong;
}

Outcome OrderTaken(ProviderProbe& probe) {
  if (const auto cannot = probe.CannotChange()) return *cannot;
  const auto before = probe.TargetSize(probe.options.grow);
  const auto machines = probe.Instances(probe.options.grow);
  if (!before.ok() || !machines.ok()) return NotApplicable("target or machines cannot be read");
  const int room =
      std::min({kOrdered, GrownGroup(probe).maxsize() - *before, probe.options.at_most});
  if (room <= 0) return NotApplicable("there is no room in the group, or --at-most is 0");
  ProviderProbe::Order order{.target_before = *before, .count = room};
  for (const pb::Instance& one : *machines) order.before.insert(one.id());
  const Status answer = probe.Increase(probe.options.grow, room);
  // An answer that was lost: the target tells whether there is something to clean up.
  const auto after = probe.TargetSize(probe.options.grow);
  if (answer.ok() || (after.ok() && *after == *before + room)) probe.order = std::move(order);
  if (answer.ok()) return Passed(fmt::format("{} machines ordered", room));
  const bool late = answer.code() == Code::kDeadlineExceeded;
  return Failed(
      fmt::format("an increase by {}: {}{}", room, answer.ToString(),
                  late ? "; answer when the target counts it, and order in the background" : ""));
}

Outcome OrderRaisesTarget(ProviderProbe& probe) {
  if (!probe.order) return NotApplicable("nothing was ordered");
  const int wanted = probe.order->target_before + probe.order->count;
  const auto target = probe.TargetSize(probe.options.grow);
  if (target.ok() && *target == wanted) return Passed();
  return Failed(
      fmt::format("the target should be {} and is {}; an autoscaler that sees this "
                  "orders again",
                  wanted, target.ok() ? std::to_string(*target) : target.status().ToString()));
}

Outcome RefreshKeepsOrders(ProviderProbe& probe) {
  if (!probe.order) return NotApplicable("nothing was ordered");
  if (!probe.refreshes) return NotApplicable("Refresh fails");
  const int wanted = probe.order->target_before + probe.order->count;
  for (int round = 0; round < 3; ++round) {
    (void)probe.Refresh();
    const auto target = probe.TargetSize(probe.options.grow);
    if (target.ok() && *target == wanted) continue;
    probe.order->kept = false;
    return Failed(fmt::format("after a Refresh the target is {} instead of {}",
                              target.ok() ? std::to_string(*target) : target.status().ToString(),
                              wanted));
  }
  return Passed();
}

Outcome MachinesAppear(ProviderProbe& probe) {
  if (!probe.order) return NotApplicable("nothing was ordered");
  if (!probe.order->kept) return NotApplicable("the order was forgotten");
  const auto count = static_cast<size_t>(probe.order->count);
  // Up if possible: a machine that is being created may be listed under another id until then.
  (void)probe.Wait([&] {
    const auto fresh = NewMachines(probe);
    return fresh.ok() && fresh->size() >= count &&
           std::ranges::all_of(*fresh, [](const pb::Instance& one) {
             return one.status().instancestate() != pb::InstanceStatus::instanceCreating;
           });
  });
  const auto fresh = NewMachines(probe);
  if (!fresh.ok()) return Failed(fresh.status().ToString());
  if (fresh->size() > count) {
    return NotApplicable(fmt::format(
        "{} machines have come and {} were ordered: somebody else changes this group, so nothing "
        "in it is deleted; look after them",
        fresh->size(), count));
  }
  for (const pb::Instance& one : *fresh) probe.order->ours.push_back(one.id());
  if (fresh->size() < count) {
    return Failed(fmt::format("{} of {} machines are listed", fresh->size(), count));
  }
  for (const pb::Instance& one : *fresh) {
    if (!one.status().errorinfo().errorcode().empty()) {
      return NotApplicable("the cloud did not deliver: " + one.status().errorinfo().errorcode() +
                           " " + one.status().errorinfo().errormessage());
    }
  }
  return Passed();
}

Outcome NewMachinesBelong(ProviderProbe& probe) {
  if (!probe.order || probe.order->ours.empty())
    return NotApplicable("no machine of ours is there");
  for (const std::string& id : probe.order->ours) {
    const auto group = probe.GroupOf(id);
    if (!group.ok()) return Failed("machine '" + id + "': " + group.status().ToString());
    if (group->id() != probe.options.grow) {
      return Failed(fmt::format("machine '{}' is said to be in '{}'", id, group->id()));
    }
  }
  return Passed();
}

// With a deadline that the server cannot meet. What it makes of that is its own business, as long
// as target and machines tell the same story afterwards.
Outcome OrderCutShort(ProviderProbe& probe) {
  if (const auto cannot = probe.CannotChange()) return *cannot;
  if (!probe.order || probe.order->ours.size() < static_cast<size_t>(probe.order->count)) {
    return NotApplicable("an order does not bring machines even with time");
  }
  const auto before = probe.TargetSize(probe.options.grow);
  const auto machines = probe.Instances(probe.options.grow);
  if (!before.ok() || !machines.ok()) return NotApplicable("target or machines cannot be read");
  if (*before >= GrownGroup(probe).maxsize()) return NotApplicable("there is no room in the group");
  for (const pb::Instance& one : *machines) probe.order->before.insert(one.id());
  pb::NodeGroupIncreaseSizeRequest request;
  request.set_id(probe.options.grow);
  request.set_delta(1);
  const auto answer = probe.calls.Bytes("NodeGroupIncreaseSize", request.SerializeAsString(),
                                        std::chrono::milliseconds(1));
  int64_t came = 0;
  int64_t wanted = 0;
  const bool agreed = probe.Wait([&] {
    const auto target = probe.TargetSize(probe.options.grow);
    const auto fresh = NewMachines(probe);
    if (!target.ok() || !fresh.ok()) return false;
    wanted = *target - *before;
    came = static_cast<int64_t>(fresh->size());
    return (wanted == 0 || wanted == 1) && came == wanted;
  });
  if (const auto fresh = NewMachines(probe); fresh.ok() && fresh->size() <= 1) {
    for (const pb::Instance& one : *fresh) probe.order->ours.push_back(one.id());
  }
  probe.order->unborn = static_cast<int>(std::clamp<int64_t>(wanted - came, 0, 1));
  const std::string word = answer.ok() ? "OK" : std::string(ToString(answer.code()));
  if (agreed) return Passed(fmt::format("answered {}; {} ordered", word, wanted));
  return Failed(
      fmt::format("an increase by 1 with a deadline of 1 ms (answered {}) has changed the "
                  "target by {} and brought {} machines",
                  word, wanted, came));
}

}  // namespace coppice::conform
