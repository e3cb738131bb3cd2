// What a step of a coroutine costs. A pass awaits some thousands of times, so all of these may stay
// far below a microsecond; the sleep is the one to watch as timers grow.

#include "base/executor.h"

#include <benchmark/benchmark.h>

#include "base/fake_clock.h"
#include "base/promise.h"

namespace coppice {
namespace {

Task<int> One() { co_return 1; }

Task<int> AwaitMany(int64_t count) {
  int sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += co_await One();
  co_return sum;
}

void BM_AwaitATaskThatIsDone(benchmark::State& state) {
  FakeClock clock;
  Executor executor(clock);
  for (auto _ : state) benchmark::DoNotOptimize(executor.BlockOn(AwaitMany(1'000)));
  state.SetItemsProcessed(state.iterations() * 1'000);
}
BENCHMARK(BM_AwaitATaskThatIsDone);

Task<> SleepMany(Executor& executor, int64_t count) {
  for (int64_t i = 0; i < count; ++i) co_await executor.Sleep(std::chrono::seconds(1 + i % 7));
}

void BM_Sleep(benchmark::State& state) {
  constexpr int64_t kSleeps = 100;
  for (auto _ : state) {
    FakeClock clock;
    Executor executor(clock);
    std::vector<Task<>> tasks;
    for (int64_t i = 0; i < state.range(0); ++i) tasks.push_back(SleepMany(executor, kSleeps));
    executor.BlockOn(WhenAll(std::move(tasks)));
  }
  state.SetItemsProcessed(state.iterations() * state.range(0) * kSleeps);
}
BENCHMARK(BM_Sleep)->ArgName("tasks")->Arg(1)->Arg(100)->Arg(10'000);

Task<> AnswerMany(Executor& executor, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const Promise<int64_t> promise(executor);
    promise.Set(i);
    benchmark::DoNotOptimize(co_await promise.future());
  }
}

void BM_PromiseSetAndAwaited(benchmark::State& state) {
  FakeClock clock;
  Executor executor(clock);
  for (auto _ : state) executor.BlockOn(AnswerMany(executor, 1'000));
  state.SetItemsProcessed(state.iterations() * 1'000);
}
BENCHMARK(BM_PromiseSetAndAwaited);

}  // namespace
}  // namespace coppice
