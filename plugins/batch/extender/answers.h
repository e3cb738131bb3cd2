// Answers: what an extender says, read as Go reads it into Volcano's types.
//
// Names match in any case, of several the last counts, unknown ones are passed over, null leaves a
// value as it is, and a value of another type is an error of the whole answer; what stood beside it
// is read all the same. Bytes of a stranger: nothing here crashes on any of them.

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"

namespace coppice::batch::extender {

template <class T>
struct Answer {
  T value;
  Status status;  // why the answer does not count
};

struct PredicateAnswer {
  std::string message;  // empty: passes, whatever the code
  int64_t code = 0;
};
Answer<PredicateAnswer> ReadPredicate(std::string_view body);

struct BatchPredicateAnswer {
  std::map<std::string, PredicateAnswer> nodes;  // who is not named passes
  std::string error;
};
Answer<BatchPredicateAnswer> ReadBatchPredicate(std::string_view body);

struct PrioritizeAnswer {
  std::optional<std::map<std::string, double>> scores;
  std::string error;
};
Answer<PrioritizeAnswer> ReadPrioritize(std::string_view body);

struct VictimsAnswer {
  struct Victim {
    bool null = false;
    bool complete = false;  // carries its request
    std::string uid;
  };
  int64_t vote = 0;
  std::vector<Victim> victims;
};
Answer<VictimsAnswer> ReadVictims(std::string_view body);

Answer<int64_t> ReadVote(std::string_view body);              // {"status":1}
Answer<bool> ReadOverused(std::string_view body);             // {"overused":true}
Answer<bool> ReadReady(std::string_view body);                // {"status":true}
Answer<std::string> ReadErrorMessage(std::string_view body);  // {"errorMessage":""}
Answer<std::string> ReadBindError(std::string_view body);     // {"Error":""}
Answer<bool> ReadResend(std::string_view body);               // {"resend":true}, or nothing at all
Status ReadNothing(std::string_view body);                    // an object of no interest

}  // namespace coppice::batch::extender
