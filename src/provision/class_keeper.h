// ClassKeeper: class objects on their way to the provider, and what it thinks of them on its way
// back: the condition Ready of their status, and what pools and claims read of it.
//
// A class of ours (coppice.dev NodeClass) may keep its user data in a Secret; that is read when the
// class changes, and every few minutes.
//
// Decision thread.

#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "provision/context.h"

namespace coppice::provision {

class ClassKeeper {
 public:
  explicit ClassKeeper(Context& context) : context_(context) {}

  // Hands over what has changed and begins the writes. Fills context.classes. True: something was
  // handed over, so the provider should judge it.
  bool Look(TimePoint now);

 private:
  struct UserData {
    std::string version;  // of the class that it was read for
    TimePoint read_at = TimePoint::min();
    bool busy = false;
    std::string text;
    Status status = Unavailable("its user data has not been read yet");
  };
  Task<void> ReadUserData(std::shared_ptr<const model::NodeClass> node_class);
  Task<void> WriteReady(std::shared_ptr<const model::NodeClass> node_class, model::Condition ready);
  void Judge(const cloud::NodeClassKind& kind, const model::NodeClass& node_class,
             const std::vector<cloud::NodeClassState>& states);
  void WriteOurs(TimePoint now);

  Context& context_;
  std::map<std::string, UserData> user_data_;  // by the class's name
  std::string handed_over_;                    // which versions
  std::vector<cloud::NodeClassInput> last_;    // those that were, as they were read
  std::set<std::string> busy_;
};

}  // namespace coppice::provision
