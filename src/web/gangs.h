// Queues and gangs in the dashboard: a report of the batch scheduler as a section of the picture, as
// decisions and as answers.
//
// Pure functions; GangTeller remembers what it has told, on the board's thread.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "model/pod.h"
#include "report/session_report.h"
#include "web/decisions.h"
#include "web/picture.h"

namespace coppice::web {

// "namespace/name" of the gang that the pod belongs to; "": none.
std::string GangOf(const model::Pod& pod);

// Every queue with what it holds and deserves, and the gangs that wait in it.
void DrawQueues(const report::SessionReport& session, Picture& picture);

Result<std::string> GangJson(const report::SessionReport& session, std::string_view name);

class GangTeller {
 public:
  std::vector<Decision> Tell(const report::SessionReport& session);

 private:
  std::map<std::string, std::string> said_;  // by gang: what was last bought or refused
  std::string error_;
};

}  // namespace coppice::web
