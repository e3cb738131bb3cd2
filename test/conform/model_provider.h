// A provider that keeps every rule, and can be told to break one: for the tests of `coppice
// conform`. Two groups; `first` has machines that are somebody's and must survive, `second` is
// empty.

#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "base/clock.h"
#include "externalgrpc.pb.h"
#include "grpc/handler.h"
#include "model/objects.h"

namespace coppice::conform {

class ModelProvider {
 public:
  // `wrong` is the name of a mistake (model_provider.cc has them all); "": none.
  explicit ModelProvider(Clock& clock, std::string wrong = "");

  grpc::Service Service();
  // Machines that were there at the start and are there still.
  size_t SurvivorsOfTheStart();
  // Machines that were not there at the start.
  size_t Others();

 private:
  struct Machine {
    std::string group;
    int state = 2;  // creating
    bool hidden = false;
  };
  struct Group {
    int min = 0;
    int max = 4;
    int target = 0;
  };

  grpc::Answer Handle(const std::string& method, const grpc::Call& call);
  grpc::Answer Answer(const std::string& method, const grpc::Call& call);
  grpc::Answer NodeGroups();
  grpc::Answer ForNode(const grpc::Call& call);
  grpc::Answer Refresh();
  grpc::Answer Target(const grpc::Call& call);
  grpc::Answer Nodes(const grpc::Call& call);
  grpc::Answer Increase(const grpc::Call& call);
  grpc::Answer Delete(const grpc::Call& call);
  grpc::Answer Decrease(const grpc::Call& call);
  grpc::Answer Template(const grpc::Call& call);
  grpc::Answer Options(const grpc::Call& call);
  grpc::Answer Price(const grpc::Call& call, bool pod);
  bool Is(std::string_view mistake) const { return wrong_ == mistake; }
  bool HurriedCall(const grpc::Call& call) const;
  void Fill(const std::string& id,
            clusterautoscaler::cloudprovider::v1::externalgrpc::NodeGroup* group) const;

  Clock& clock_;
  const std::string wrong_;
  std::mutex mutex_;
  std::mutex together_mutex_;
  std::condition_variable together_;
  int in_flight_ = 0;
  std::vector<std::string> order_ = {"first", "second"};
  std::map<std::string, Group> groups_;
  std::map<std::string, Machine> machines_;
  std::set<std::string> start_;
  std::map<std::string, std::string> deleted_;  // id to group
  int made_ = 0;
  bool refreshed_ = false;
  bool broken_ = false;
  int lists_ = 0;
};

}  // namespace coppice::conform
