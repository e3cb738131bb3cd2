// A cloud whose machines become nodes: the emulated cloudscale API, and a player that writes a Node
// for each server that has booted and takes it away with the server, as a kubelet and a
// cloud-controller-manager would. What the node then does (Ready, running pods) is kwok's part, or
// the test's.

#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "base/rng.h"
#include "test/emulator/cloudscale_emulator.h"
#include "test/emulator/wire_server.h"

namespace coppice::test {

class PlayedCloud {
 public:
  // `kubeconfig` of somebody who may write nodes.
  PlayedCloud(std::string kubeconfig, Duration boot_time);
  ~PlayedCloud();
  PlayedCloud(const PlayedCloud&) = delete;
  PlayedCloud& operator=(const PlayedCloud&) = delete;

  // What the nodes of a group have beside the usual: an object to be merged into the Node. Before
  // the first of them boots.
  void Dress(const std::string& group, const std::string& node_json) {
    const std::lock_guard lock(mutex_);
    dress_[group] = node_json;
  }
  std::string url() const { return server_->url(); }
  emulator::CloudscaleEmulator& emulator() { return emulator_; }
  size_t servers() const { return emulator_.server_count(); }
  // Most servers that there were at a time.
  size_t peak() const { return peak_; }
  std::map<std::string, std::string> Environment() const {
    return {{"CLOUDSCALE_API_URL", url()}, {"CLOUDSCALE_API_TOKEN", "any"}};
  }

 private:
  void Play();

  const std::string kubeconfig_;
  SystemClock clock_;
  SeededRng rng_{5};
  emulator::CloudscaleEmulator emulator_;
  std::unique_ptr<emulator::WireServer> server_;
  std::mutex mutex_;
  std::map<std::string, std::string> dress_;
  std::atomic<size_t> peak_ = 0;
  std::atomic<bool> stop_ = false;
  std::thread player_;
};

}  // namespace coppice::test
