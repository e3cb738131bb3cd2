#include "conform/calls.h"

#include <latch>
#include <thread>
#include <vector>

namespace coppice::conform {

void AtOnce(size_t count, const std::function<void(size_t)>& each) {
  std::latch start(static_cast<std::ptrdiff_t>(count));
  std::vector<std::jthread> threads;
  threads.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    threads.emplace_back([&, i] {
      start.arrive_and_wait();
      each(i);
    });
  }
}

}  // namespace coppice::conform
