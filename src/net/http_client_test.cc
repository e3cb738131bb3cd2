// The client's TLS against our own server. How it fares with servers that misbehave is tried in
// test/emulator.

#include "net/http_client.h"

#include <gmock/gmock.h>

#include "net/http_server.h"
#include "test/support/must.h"
#include "test/support/test_certificates.h"

namespace coppice::net {
namespace {

class HttpClientTlsTest : public testing::Test {
 protected:
  std::unique_ptr<HttpServer> Serve(const std::string& name) {
    const test::PemPair pair = authority_.Issue(name, {name});
    HttpServerOptions options{.stop_grace = std::chrono::milliseconds(50),
                              .tls_cert_file = folder_.Write("tls.crt", pair.cert),
                              .tls_key_file = folder_.Write("tls.key", pair.key)};
    return MUST(HttpServer::Create(
        options, [](const ServerRequest&) { return ServerResponse{.body = "hello"}; }));
  }
  Result<HttpResponse> Get(const HttpServer& server, const std::string& ca_file) {
    const auto client = MUST(MakeHttpClient({.ca_file = ca_file, .proxy = ""}, clock_));
    return client->Send({.url = "https://127.0.0.1:" + std::to_string(server.port()) + "/"},
                        Deadline::In(clock_, std::chrono::seconds(10)));
  }

  SystemClock clock_;
  test::TestAuthority authority_;
  test::TempDirectory folder_;
};

TEST_F(HttpClientTlsTest, TrustsTheAuthorityThatItIsGiven) {
  const auto server = Serve("127.0.0.1");
  EXPECT_EQ(MUST(Get(*server, folder_.Write("ca.crt", authority_.pem()))).body, "hello");
}

TEST_F(HttpClientTlsTest, TrustsNoOtherAuthority) {
  const auto server = Serve("127.0.0.1");
  const test::TestAuthority other("other");
  EXPECT_EQ(Get(*server, folder_.Write("ca.crt", other.pem())).code(), Code::kFailedPrecondition);
  EXPECT_EQ(Get(*server, "").code(), Code::kFailedPrecondition) << "nor does the system know it";
}

TEST_F(HttpClientTlsTest, TheNameMustMatch) {
  const auto server = Serve("somebody.else");
  const auto result = Get(*server, folder_.Write("ca.crt", authority_.pem()));
  EXPECT_EQ(result.code(), Code::kFailedPrecondition) << result.status();
}

TEST_F(HttpClientTlsTest, ACaFileThatIsNotThereIsSaid) {
  const auto server = Serve("127.0.0.1");
  EXPECT_EQ(Get(*server, folder_.At("none")).code(), Code::kFailedPrecondition);
}

}  // namespace
}  // namespace coppice::net
