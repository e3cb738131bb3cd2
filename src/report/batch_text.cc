#include "report/batch_text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

namespace coppice::report {
namespace {

using State = WaitingGang::State;

std::string Moment(TimePoint when) {
  return fmt::format("{:%H:%M:%SZ}", std::chrono::floor<std::chrono::seconds>(when));
}

std::string LackingText(const WaitingGang& gang) {
  std::string roles;
  for (const WaitingGang::Lacking& one : gang.lacking) {
    if (!roles.empty()) roles += ", ";
    roles += fmt::format("{} {}{}", one.tasks, one.role.empty() ? "task" : one.role,
                         one.created ? "" : " (no pods yet)");
  }
  return roles;
}

// Enough to see where to look; the rest is counted.
constexpr size_t kMostRoom = 8;

std::string RoomText(const WaitingGang& gang) {
  std::string text;
  for (size_t i = 0; i < gang.room.size() && i < kMostRoom; ++i)
    text +=
        fmt::format("{}{} on {}", text.empty() ? "" : ", ", gang.room[i].task, gang.room[i].node);
  if (gang.room.size() > kMostRoom)
    text += fmt::format(", and {} more", gang.room.size() - kMostRoom);
  return text;
}

std::string_view LabelOf(State state) {
  switch (state) {
    case State::kOrdered:
      return "bought";
    case State::kHeld:
      return "held";
    default:
      return "it would take";
  }
}

}  // namespace

std::string MachinesText(const WaitingGang& gang) {
  std::string text;
  for (const WaitingGang::Lot& lot : gang.lots) {
    if (!text.empty()) text += ", ";
    if (lot.machines > 0) text += fmt::format("{} of {}", lot.machines, lot.source);
    if (lot.claimed > 0)
      text += fmt::format("{}{} of {} on their way", lot.machines > 0 ? " and " : "", lot.claimed,
                          lot.source);
  }
  if (!text.empty() && gang.price_per_hour)
    text += fmt::format(", {:.4g} an hour", *gang.price_per_hour);
  return text;
}

std::string GangText(const WaitingGang& gang) {
  std::string text =
      fmt::format("{} waits in queue {}{}: {} of its tasks have a place, {} are needed\n",
                  gang.gang, gang.queue, gang.admitted ? "" : ", which has not let it in",
                  gang.placed, gang.min_available);
  const auto add = [&](std::string_view label, const std::string& what) {
    if (!what.empty()) text += fmt::format("  {:<14} {}\n", label, what);
  };
  add("session", gang.session);
  if (!gang.lacking.empty() || gang.with_room > 0) {
    const std::string lacking = LackingText(gang);
    add("tasks", fmt::format("{} of those that it lacks have room{}", gang.with_room,
                             lacking.empty() ? "" : ", these have none: " + lacking));
  }
  add("room", RoomText(gang));
  add("not bought for", gang.blocked);
  add(LabelOf(gang.state), MachinesText(gang));
  if (gang.state == State::kOrdered || gang.state == State::kHeld) {
    add("machines",
        fmt::format("{} on their way, {} wait for it{}", gang.coming, gang.held_nodes.size(),
                    gang.held_until ? ", held until " + Moment(*gang.held_until) : ""));
  }
  for (const std::string& refusal : gang.refusals) add("refused", refusal);
  if (gang.why != gang.session && gang.why != gang.blocked) add("so", gang.why);
  return text;
}

}  // namespace coppice::report
