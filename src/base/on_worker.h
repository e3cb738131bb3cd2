// Work off the decision thread whose caller waits for it without holding the thread.
//
//   Options narrowed;
//   const std::function<void()> ask = [&] { narrowed = expander.Narrow(options); };
//   CO_TRY(co_await OnWorker(workers, executor, ask));

#pragma once

#include <functional>

#include "base/executor.h"
#include "base/pool.h"
#include "base/status.h"
#include "base/task.h"

namespace coppice {

// Runs `work` on one of `workers` and goes on, on the executor's thread, when it is over. Fails
// only if the workers take no more.
//
// `work` may refer to what lives in the awaiting coroutine: if that is destroyed in between (the
// process ends), the destructor waits for work that runs and forgets work that has not begun.
Task<Status> OnWorker(Workers& workers, Executor& executor, std::function<void()> work);

}  // namespace coppice
