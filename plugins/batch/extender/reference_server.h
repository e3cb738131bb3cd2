// The other end: an extender in C++ that knows every verb, to try a scheduler against and to
// measure it by. Its rules are those of Volcano's example server (best-effort pods keep off crowded
// nodes); what it has no rule for it permits.
//
// Stateless; any thread.

#pragma once

#include <string>
#include <string_view>

#include "net/http_server.h"

namespace coppice::batch::extender {

// By the last part of the path. 404: no such verb; 400: not what the verb is sent; 405: not a POST.
net::ServerResponse AnswerAsReference(const net::ServerRequest& request);

}  // namespace coppice::batch::extender
