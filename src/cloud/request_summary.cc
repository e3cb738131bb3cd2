#include "cloud/request_summary.h"

#include <map>
#include <string>
#include <vector>

#include "base/strings.h"

namespace coppice::cloud {

namespace {

const char* RemedyFor(Code code) {
  switch (code) {
    case Code::kResourceExhausted:
      return "raise the quota, or give the group another flavor or zone";
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kFailedPrecondition:
      return "correct the group's configuration";
    case Code::kUnauthenticated:
    case Code::kPermissionDenied:
      return "check the cloud's token and what it may do";
    default:
      return "the cloud did not do it; ask again";
  }
}

// What the cloud holds against our token or our configuration is not the client's fault, and what
// it did not find is not the group.
Code ForClient(Code code) {
  switch (code) {
    case Code::kNotFound:
    case Code::kUnauthenticated:
    case Code::kPermissionDenied:
      return Code::kFailedPrecondition;
    default:
      return code;
  }
}

}  // namespace

Status Summary(std::string_view group, int64_t asked, std::string_view what,
               const Request& request) {
  if (request.failures.empty()) return Status::Ok();
  std::map<std::string, int> texts;
  for (const Status& failure : request.failures) ++texts[failure.message()];
  std::vector<std::string> reasons;
  for (const auto& [text, times] : texts) {
    if (reasons.size() == 3) {
      reasons.push_back("...");
      break;
    }
    reasons.push_back(times == 1 ? text : text + " (" + std::to_string(times) + " times)");
  }
  const Code code = request.failures.front().code();
  const int64_t pending = static_cast<int64_t>(request.open) + request.unanswered;
  std::string text = "group '" + std::string(group) +
                     "': " + std::to_string(request.failures.size()) + " of " +
                     std::to_string(asked) + " machines could not be " + std::string(what) + ": " +
                     Join(reasons, "; ") + "; " + std::to_string(request.done) + " were";
  if (pending > 0) text += ", " + std::to_string(pending) + " are under way";
  return {ForClient(code), text + "; " + RemedyFor(code)};
}

}  // namespace coppice::cloud
