// Deletes and decreases, of machines that were ordered here and of nothing else.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/strings.h"
#include "conform/provider_probe.h"

namespace coppice::conform {
namespace {

// At least so many machines of ours, or why the rule cannot be tried.
struct Ours {
  std::vector<std::string> ids;
  int target = 0;
  std::optional<Outcome> cannot;
};

Ours TakeOurs(const ProviderProbe& probe, size_t at_least) {
  Ours ours;
  if (const auto cannot = probe.CannotChange()) {
    ours.cannot = cannot;
    return ours;
  }
  const auto ids = probe.OursNow();
  const auto target = probe.TargetSize(probe.options.grow);
  if (!ids.ok() || !target.ok()) {
    ours.cannot = NotApplicable("target or machines cannot be read");
  } else if (ids->size() < at_least) {
    ours.cannot = NotApplicable(
        fmt::format("{} machines of ours are there, {} are needed", ids->size(), at_least));
  } else {
    ours.ids = *ids;
    ours.target = *target;
  }
  return ours;
}

// Nothing has changed since `ours` was taken, or what has.
std::optional<Outcome> Changed(const ProviderProbe& probe, const Ours& ours,
                               const std::string& after_what) {
  const auto now = probe.OursNow();
  if (!now.ok()) return Failed(after_what + ": " + now.status().ToString());
  if (now->size() < ours.ids.size()) {
    return Failed(
        fmt::format("{}: {} machines are left of {}", after_what, now->size(), ours.ids.size()));
  }
  const auto target = probe.TargetSize(probe.options.grow);
  if (!target.ok()) return Failed(after_what + ": " + target.status().ToString());
  if (*target != ours.target) {
    return Failed(fmt::format("{}: the target is {} and was {}", after_what, *target, ours.target));
  }
  return std::nullopt;
}

}  // namespace

Outcome DeleteStranger(ProviderProbe& probe) {
  const Ours ours = TakeOurs(probe, 0);
  if (ours.cannot) return *ours.cannot;
  const Status answer = probe.Delete(probe.options.grow, {kStranger});
  if (answer.ok()) return Failed("deleting a machine that is nobody's is answered with OK");
  if (const auto changed = Changed(probe, ours, "a delete that was refused")) return *changed;
  return Passed();
}

Outcome DeleteFromAnotherGroup(ProviderProbe& probe) {
  const Ours ours = TakeOurs(probe, 1);
  if (ours.cannot) return *ours.cannot;
  const auto other = std::ranges::find_if(
      probe.groups, [&](const pb::NodeGroup& group) { return group.id() != probe.options.grow; });
  if (other == probe.groups.end()) return NotApplicable("there is one group only");
  const Status answer = probe.Delete(other->id(), {ours.ids[0]});
  if (answer.ok()) {
    return Failed(fmt::format("'{}' of '{}' may be deleted in the name of '{}'", ours.ids[0],
                              probe.options.grow, other->id()));
  }
  if (const auto changed = Changed(probe, ours, "a delete that was refused")) return *changed;
  return Passed();
}

Outcome DeleteIsWhole(ProviderProbe& probe) {
  const Ours ours = TakeOurs(probe, 1);
  if (ours.cannot) return *ours.cannot;
  const Status answer = probe.Delete(probe.options.grow, {ours.ids[0], kStranger});
  if (answer.ok()) return Failed("a delete with an id that is nobody's is answered with OK");
  if (const auto changed = Changed(probe, ours, "a delete that was refused for one of two ids")) {
    return *changed;
  }
  return Passed();
}

Outcome DecreaseUpwards(ProviderProbe& probe) {
  const Ours ours = TakeOurs(probe, 0);
  if (ours.cannot) return *ours.cannot;
  for (const int delta : {0, 1}) {
    if (probe.Decrease(probe.options.grow, delta).ok()) {
      return Failed(
          fmt::format("a decrease by {} is answered with OK; it has to be below 0", delta));
    }
    if (const auto changed = Changed(probe, ours, "a decrease that was refused")) return *changed;
  }
  return Passed();
}

// A server that gets this wrong deletes a machine of its own choice: tried only where every
// machine is ours.
Outcome DecreaseKeepsMachines(ProviderProbe& probe) {
  const Ours ours = TakeOurs(probe, 1);
  if (ours.cannot) return *ours.cannot;
  if (!probe.order->before.empty()) {
    return NotApplicable(
        "the group has machines that are not ours; a server that gets this wrong might delete one");
  }
  if (ours.target != static_cast<int>(ours.ids.size())) {
    return NotApplicable("the target counts more than the machines that are there");
  }
  if (probe.Decrease(probe.options.grow, -1).ok()) {
    return Failed("all machines exist, and a decrease of the target by 1 is answered with OK");
  }
  if (const auto changed = Changed(probe, ours, "a decrease that was refused")) return *changed;
  return Passed();
}

Outcome DeleteLowersTarget(ProviderProbe& probe) {
  const Ours ours = TakeOurs(probe, 1);
  if (ours.cannot) return *ours.cannot;
  if (const Status answer = probe.Delete(probe.options.grow, {ours.ids[0]}); !answer.ok()) {
    return Failed("deleting '" + ours.ids[0] + "': " + answer.ToString());
  }
  probe.deleted = ours.ids[0];
  const auto target = probe.TargetSize(probe.options.grow);
  probe.deletes_count = target.ok() && *target == ours.target - 1;
  if (probe.deletes_count) return Passed();
  return Failed(
      fmt::format("the target was {}, one machine was deleted, and it is {}; a machine "
                  "that is replaced was not removed",
                  ours.target, target.ok() ? std::to_string(*target) : target.status().ToString()));
}

Outcome DeletedMachineGoes(ProviderProbe& probe) {
  if (probe.deleted.empty()) return NotApplicable("nothing was deleted");
  probe.deletes_happen = probe.Wait([&] {
    const auto now = probe.OursNow();
    return now.ok() && std::ranges::find(*now, probe.deleted) == now->end();
  });
  if (probe.deletes_happen) return Passed();
  return Failed("machine '" + probe.deleted + "' was deleted and is still listed as there");
}

Outcome RepeatedDelete(ProviderProbe& probe) {
  if (!probe.deletes_happen) return NotApplicable("no machine has gone");
  const Ours ours = TakeOurs(probe, 0);
  if (ours.cannot) return *ours.cannot;
  const Status answer = probe.Delete(probe.options.grow, {probe.deleted});
  const auto target = probe.TargetSize(probe.options.grow);
  if (target.ok() && *target == ours.target) {
    return Passed("answered " + std::string(ToString(answer.code())));
  }
  return Failed(
      fmt::format("'{}' was deleted a second time (answered {}), and the target went "
                  "from {} to {}",
                  probe.deleted, ToString(answer.code()), ours.target,
                  target.ok() ? std::to_string(*target) : target.status().ToString()));
}

Outcome RefreshKeepsDeletes(ProviderProbe& probe) {
  if (!probe.deletes_happen) return NotApplicable("no machine has gone");
  if (!probe.refreshes) return NotApplicable("Refresh fails");
  const Ours ours = TakeOurs(probe, 0);
  if (ours.cannot) return *ours.cannot;
  for (int round = 0; round < 2; ++round) {
    (void)probe.Refresh();
    const auto now = probe.OursNow();
    const auto target = probe.TargetSize(probe.options.grow);
    if (!now.ok() || !target.ok()) return Failed("target or machines cannot be read");
    if (std::ranges::find(*now, probe.deleted) != now->end() || *target != ours.target) {
      probe.deletes_return = true;
      return Failed(fmt::format("after a Refresh the target is {} instead of {}, and '{}' is {}",
                                *target, ours.target, probe.deleted,
                                now->size() > ours.ids.size() ? "back" : "gone"));
    }
  }
  return Passed();
}

Outcome ParallelDeletes(ProviderProbe& probe) {
  if (!probe.deletes_happen || !probe.deletes_count || probe.deletes_return) {
    return NotApplicable("a delete alone does not do what it should");
  }
  const Ours ours = TakeOurs(probe, 2);
  if (ours.cannot) return *ours.cannot;
  std::array<Status, 3> answers;
  AtOnce(answers.size(), [&](size_t i) {
    answers[i] = i < 2 ? probe.Delete(probe.options.grow, {ours.ids[i]}) : probe.Refresh();
  });
  for (size_t i = 0; i < answers.size(); ++i) {
    if (answers[i].ok() || (i == 2 && !probe.refreshes)) continue;
    return Failed(fmt::format("two deletes and a Refresh at once: {}: {}",
                              i < 2 ? "a delete" : "the Refresh", answers[i].ToString()));
  }
  int target = 0;
  const bool settled = probe.Wait([&] {
    const auto now = probe.TargetSize(probe.options.grow);
    const auto left = probe.OursNow();
    if (!now.ok() || !left.ok()) return false;
    target = *now;
    return target == ours.target - 2 && left->size() + 2 == ours.ids.size();
  });
  if (settled) return Passed();
  return Failed(fmt::format("two machines were deleted at once, and the target went from {} to {}",
                            ours.target, target));
}

Outcome LeavesNothing(ProviderProbe& probe) {
  if (!probe.order) return NotApplicable("nothing was ordered");
  const auto ours = probe.OursNow();
  if (!ours.ok()) return Failed("the machines cannot be read: " + ours.status().ToString());
  std::string last;
  for (const std::string& id : *ours) {
    if (const Status answer = probe.Delete(probe.options.grow, {id}); !answer.ok()) {
      last = answer.ToString();
    }
  }
  // An order that nothing has come of is taken back, not deleted.
  if (probe.order->unborn > 0) (void)probe.Decrease(probe.options.grow, -probe.order->unborn);
  std::vector<std::string> left = *ours;
  (void)probe.Wait([&] {
    const auto now = probe.OursNow();
    if (now.ok()) left = *now;
    return now.ok() && now->empty();
  });
  const size_t unseen = static_cast<size_t>(probe.order->count) > probe.order->ours.size()
                            ? static_cast<size_t>(probe.order->count) - probe.order->ours.size()
                            : 0;
  if (unseen > 0) {
    return NotApplicable(
        fmt::format("{} machines were ordered and never listed here; look after them", unseen));
  }
  if (left.empty()) return Passed(fmt::format("{} deleted now", ours->size()));
  if (!probe.deleted.empty() && !probe.deletes_happen) {
    return NotApplicable("deletes do nothing; left behind: " + Join(left, ", "));
  }
  return Failed("left behind: " + Join(left, ", ") + (last.empty() ? "" : "; " + last));
}

}  // namespace coppice::conform
