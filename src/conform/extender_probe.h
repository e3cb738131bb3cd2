// What the rules of the extender's contract share: asking a verb, and reading JSON as Go does.

#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "conform/extender.h"
#include "conform/volcano_objects.h"

namespace coppice::conform {

// The member of that name as Go's decoder finds it: letters of either case, the last one counts;
// null counts as absent.
const Json* GoMember(const Json& object, std::string_view name);

class ExtenderProbe {
 public:
  ExtenderProbe(const ExtenderOptions& probe_options, net::HttpClient& client, Clock& clock)
      : options(probe_options), client_(client), clock_(clock) {}

  Status Alive() const;
  Result<net::HttpResponse> Send(const std::string& verb, const std::string& body,
                                 Duration within) const;
  Result<net::HttpResponse> Send(const std::string& verb, const std::string& body) const {
    return Send(verb, body, options.timeout);
  }
  // An answer with status 200 that is a JSON object; a sentence what is wrong otherwise.
  Result<Json> Ask(const std::string& verb, const Json& body) const;
  // Not applicable, and why, if the server does not have the verb.
  std::optional<Outcome> Lacks(const std::string& verb);

  Clock& clock() const { return clock_; }

  const ExtenderOptions& options;

 private:
  net::HttpClient& client_;
  Clock& clock_;
  std::map<std::string, std::optional<std::string>> lacks_;  // verb: why, once it was tried
};

// The smallest body that a verb is sent.
Json BodyOf(const std::string& verb);

Outcome HasVerbs(ExtenderProbe& probe);
Outcome SessionOpens(ExtenderProbe& probe);
Outcome PredicateAnswer(ExtenderProbe& probe);
Outcome PredicateSaysWhy(ExtenderProbe& probe);
Outcome BatchAgrees(ExtenderProbe& probe);
Outcome PrioritizeAnswer(ExtenderProbe& probe);
Outcome PrioritizeNames(ExtenderProbe& probe);
Outcome VictimsAnswer(ExtenderProbe& probe);
Outcome VictimsOffered(ExtenderProbe& probe);
Outcome VictimsWhole(ExtenderProbe& probe);
Outcome VictimsOfNobody(ExtenderProbe& probe);
Outcome QueueOverused(ExtenderProbe& probe);
Outcome JobEnqueueable(ExtenderProbe& probe);
Outcome JobEnqueued(ExtenderProbe& probe);
Outcome JobReady(ExtenderProbe& probe);
Outcome PlacementEvents(ExtenderProbe& probe);

Outcome SessionOpensAgain(ExtenderProbe& probe);
Outcome LargeSession(ExtenderProbe& probe);
Outcome ParallelPredicates(ExtenderProbe& probe);
Outcome KeepsConnections(ExtenderProbe& probe);
Outcome UnknownKeys(ExtenderProbe& probe);
Outcome NullTimes(ExtenderProbe& probe);
Outcome UnknownVerb(ExtenderProbe& probe);
Outcome NoJson(ExtenderProbe& probe);
Outcome EarlyLeaver(ExtenderProbe& probe);
Outcome SessionCloses(ExtenderProbe& probe);
Outcome WithoutSession(ExtenderProbe& probe);

}  // namespace coppice::conform
