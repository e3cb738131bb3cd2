// PodList: pods of a machine. Many plans hold the same ones, so a copy is a pointer; who adds to a
// list that others hold gets one of his own.

#pragma once

#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

#include "model/pod.h"

namespace coppice::provision {

using PodPtr = std::shared_ptr<const model::Pod>;

class PodList {
 public:
  using Pods = std::vector<PodPtr>;

  PodList() = default;
  PodList(Pods pods)  // NOLINT: a list of pods is one
      : pods_(pods.empty() ? nullptr : std::make_shared<Pods>(std::move(pods))) {}
  PodList(std::initializer_list<PodPtr> pods) : PodList(Pods(pods)) {}

  const PodPtr* begin() const { return pods_ == nullptr ? nullptr : pods_->data(); }
  const PodPtr* end() const { return begin() + size(); }
  size_t size() const { return pods_ == nullptr ? 0 : pods_->size(); }
  bool empty() const { return size() == 0; }
  const PodPtr& operator[](size_t i) const { return (*pods_)[i]; }

  void push_back(PodPtr pod) {
    if (pods_ == nullptr || pods_.use_count() > 1) pods_ = std::make_shared<Pods>(begin(), end());
    pods_->push_back(std::move(pod));
  }

 private:
  std::shared_ptr<Pods> pods_;  // null: empty
};

}  // namespace coppice::provision
