// sane: the recorded sessions once more, as they run by default: upstream's mistakes are not made,
// so that what came of them upstream is no measure. Whatever is asked of a session, it ends without
// a failure, gives nobody two nodes, and leaves the snapshot as it was.

#include <set>
#include <string>

#include "test/replay/parts.h"
#include "test/replay/replay.h"
#include "test/replay/scripted_server.h"
#include "test/replay/session_case.h"
#include "test/support/snapshot_inspector.h"

namespace coppice::replay {
namespace {

constexpr std::string_view kRecordedServer = "127.0.0.1:18713";

// With the recorded address of the extender's server replaced by ours.
Json WithServer(const Json& c) {
  if (!c.contains("server")) return c;
  static auto& server = *new ScriptedServer;  // never destroyed: it has threads
  server.Play(std::make_shared<Script>(c.at("server")));
  const std::string own = "127.0.0.1:" + std::to_string(server.port());
  Json played = c;
  auto& conf = played["conf"].get_ref<std::string&>();
  for (size_t at = 0; (at = conf.find(kRecordedServer, at)) != std::string::npos; at += own.size())
    conf.replace(at, kRecordedServer.size(), own);
  return played;
}

void CheckOutcome(const batch::Outcome& outcome, const batch::Session& session, Report& report) {
  if (!outcome.failure.ok()) report.Differs("failure", "none", outcome.failure.ToString());
  std::set<std::string> bound;
  for (const auto& bind : outcome.binds) {
    if (!bound.insert(bind.pod.uid).second)
      report.Differs("bind of " + bind.pod.key(), "once", "twice");
    if (session.FindNode(bind.node) == nullptr)
      report.Differs("bind of " + bind.pod.key(), "a node that is there", bind.node);
  }
  std::set<std::string> evicted;
  for (const auto& eviction : outcome.evictions) {
    if (!evicted.insert(eviction.pod.uid).second)
      report.Differs("eviction of " + eviction.pod.key(), "once", "twice");
    if (bound.contains(eviction.pod.uid))
      report.Differs("eviction of " + eviction.pod.key(), "not of who is bound", "bound as well");
  }
}

}  // namespace

void sane(const Json& c, Report& report) {
  const Json played = WithServer(c);
  SessionCase world(played);
  world.KeepTexts(report.text);
  const std::string before = cluster::SnapshotInspector::Nodes(world.snapshot());
  {
    auto opened = world.Open(ThePlugins().batch, ThePlugins().filters, false);
    if (!opened.ok()) {
      // What a configuration names that we do not have is refused with what to do instead.
      const Code code = opened.status().code();
      const bool told =
          code == Code::kNotFound || code == Code::kUnimplemented || code == Code::kInvalidArgument;
      if (!told) report.Differs("opening", "a session or a reason", opened.status().ToString());
    } else {
      (*opened)->Run();
      const batch::Outcome outcome = (*opened)->Close();
      CheckOutcome(outcome, **opened, report);
    }
  }
  if (cluster::SnapshotInspector::Nodes(world.snapshot()) != before)
    report.Differs("snapshot", "as before the session", "changed");
  const std::string wrong = cluster::SnapshotInspector::WrongCounts(world.snapshot());
  if (!wrong.empty()) report.Differs("counters of the snapshot", "right", wrong);
}

}  // namespace coppice::replay
