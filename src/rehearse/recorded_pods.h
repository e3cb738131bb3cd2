// RecordedPods: the pods of a World as a recorder has written them, and what has changed since.
//
// A look goes through all pods, so what it does with one that has not changed is to compare a pointer.
// What costs something is a pod that is new to the file: its shape as JSON, and a line. A shape is
// remembered as long as the pod's object is the same, also from file to file, and a look tells of so
// many pods only; the rest has to wait for the next one.

#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "cluster/world.h"

namespace coppice::rehearse {

// The pod as its shape is written: without its name, its node and what is private.
model::Pod Anonymous(const model::Pod& pod);

class RecordedPods {
 public:
  // Of one look: a few milliseconds each.
  struct Limits {
    size_t shapes = 1'000;  // that are made JSON of
    size_t pods = 20'000;
  };
  explicit RecordedPods(const cluster::World& world, Limits limits)
      : world_(world), limits_(limits) {}

  // A new file begins, of which nobody is told yet.
  void BeginFile();
  void Look(std::string& lines);
  // Everybody has been told of.
  bool whole() const { return whole_; }

 private:
  struct Shape {
    int number = -1;  // in this file; below zero: not written
    bool used = false;
  };
  struct Seen {
    cluster::PodPtr pod;                                   // null: told of as gone
    uint64_t place = 0;                                    // of the World's list
    std::pair<const std::string, Shape>* shape = nullptr;  // of shapes_
    bool shape_holds = false;                              // the pod has not changed since
    bool told = false;                                     // in this file
    bool bound = false;                                    // as it was told
    bool done = false;
  };
  using Entry = cluster::World::PodEntry;

  void Visit(Seen& seen, const Entry& entry, std::string& lines);
  void Change(Seen& seen, const cluster::PodPtr& pod, std::string& lines);
  void Leave(Seen& seen, std::string& lines);
  void TellSome(std::string& lines);
  bool Tell(Seen& seen, std::string& lines);
  bool FindShape(Seen& seen);

  const cluster::World& world_;
  const Limits limits_;
  size_t shapes_left_ = 0;  // of this look
  int next_shape_ = 0;
  bool whole_ = false;
  std::vector<Seen> seen_;                         // in the order of the list, as it was
  std::unordered_map<std::string, Shape> shapes_;  // by JSON
};

}  // namespace coppice::rehearse
