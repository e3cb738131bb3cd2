// What both of our HTTP clients need of libcurl. Internal to this folder.

#pragma once

#include <curl/curl.h>

#include <string>
#include <string_view>

#include "net/http_client.h"

namespace coppice::net {

// Once per process, before any handle. Internal when libcurl does not start.
Status InitCurl();

// Whether a request can be sent as it is: method, control bytes in URL, headers and token.
Status CheckRequest(const HttpRequest& request);

// Method and address without user, password and query: what an error may say.
std::string Describe(const HttpRequest& request);

bool HasControlBytes(std::string_view text);

// Method and body, which libcurl reads through `send` with `opaque`.
void SetMethod(CURL* handle, const HttpRequest& request, curl_read_callback send, void* opaque);

// One line of an answer's header into `response`. A status line starts the headers over: a
// redirect, 100-continue or proxy answer was before this one.
void AddHeaderLine(std::string_view line, HttpResponse& response);

// What a failed transfer means to the caller.
Status FailureOf(CURLcode outcome, std::string text);

class HeaderList {
 public:
  HeaderList() = default;
  ~HeaderList() { curl_slist_free_all(list_); }
  HeaderList(const HeaderList&) = delete;
  HeaderList& operator=(const HeaderList&) = delete;
  void Add(const std::string& name, const std::string& value);
  void AddLine(const char* line) { list_ = curl_slist_append(list_, line); }
  curl_slist* get() const { return list_; }

 private:
  curl_slist* list_ = nullptr;
};

}  // namespace coppice::net
