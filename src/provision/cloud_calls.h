// CloudCalls: the provider's slow verbs as coroutines. Each runs on a worker and is answered on the
// decision thread; so many at a time.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "provision/context.h"

namespace coppice::provision {

class CloudCalls {
 public:
  explicit CloudCalls(Context& context) : context_(context) {}

  // Whether another call may begin now; who finds none comes again with the next pass.
  bool HasRoom() const { return out_ < context_.options().most_cloud_calls; }

  Task<Result<model::NodeClaim>> Create(model::NodeClaim claim);
  Task<Status> Delete(model::NodeClaim claim);
  Task<Result<model::NodeClaim>> Get(std::string provider_id);
  Task<Result<std::vector<model::NodeClaim>>> List();
  Task<Status> Refresh();

 private:
  Task<Status> Run(std::string_view method, std::function<Status(Deadline)> call, Duration timeout);

  Context& context_;
  size_t out_ = 0;
};

}  // namespace coppice::provision
