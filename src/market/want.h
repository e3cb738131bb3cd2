// Want: the machines that a gang needs to start, as whoever sells machines is asked for them.
//
// Plain values. What is asked goes by name (pods as objects, nodes by their names), never by an
// index of a snapshot: the engines that meet here may each look at a World of their own, and time
// passes between a question and an order.

#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "model/pod.h"

namespace coppice::market {

using PodPtr = std::shared_ptr<const model::Pod>;

// Tasks that ask for the same.
struct TaskClass {
  std::string role;     // for people: the task of the job that they belong to
  PodPtr pod;           // one of them, without a node
  int count = 0;        // that have no place on what exists
  bool created = true;  // false: made from the job's template, the pods are not there yet
};

// A pod that has found room on a node that exists, but that the World does not show there yet.
struct PlacedPod {
  PodPtr pod;
  std::string node;
};

// All that is bought must share one value of this label with the rest of the gang.
struct TopologyWish {
  std::string key;    // empty: none
  std::string value;  // empty: any, but one
};

struct Want {
  std::string gang;                // "namespace/name" of its PodGroup
  std::vector<TaskClass> classes;  // what has no place, in the order in which it is to be placed
  std::vector<PlacedPod> placed;   // of this gang, on what exists: counts, and is not bought for
  TopologyWish topology = {};
  // Whether some of it is better than nothing: what a gang that runs already would like besides.
  bool in_part = false;

  int count() const {
    int sum = 0;
    for (const TaskClass& one : classes) sum += one.count;
    return sum;
  }
};

// Machines on their way that are some gang's already.
struct Reserved {
  std::string seller;
  std::string source;  // group or pool
  std::string gang;
  int machines = 0;
  friend bool operator==(const Reserved&, const Reserved&) = default;
};

// What a seller has to know beside its own view of the cluster.
struct View {
  TimePoint now;
  std::vector<PlacedPod> placed = {};  // of others, in the session that asks
};

}  // namespace coppice::market
