// Dashboard: the pages and the API of a running engine (src/web), put together: where it listens and
// for whom, what it is told, and who works out a what-if. On a model cluster and on a real one alike.
//
// Told on the decision thread; everything else happens on threads of its own. Opened before the
// first pass, and ends before what it refers to.

#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/main.h"
#include "autoscale/flags.h"
#include "cloud/node_claims.h"
#include "cloud/node_groups.h"
#include "cluster/world.h"
#include "provision/settings.h"
#include "web/site.h"

namespace coppice::app {

struct DashboardOptions {
  // "": none. Anything but loopback needs a token or a certificate authority.
  std::string address = "127.0.0.1:8086";
  bool address_is_given = false;  // else another port will do if this one is taken
  std::string token_file;
  std::string tls_cert_file;
  std::string tls_key_file;
  std::string client_ca_file;
  std::vector<std::string> hosts;
};

class Dashboard {
 public:
  // The world as it is between two plans, and who sells machines for it. Null: there is none, of the
  // world none to speak of.
  struct Sight {
    const cluster::World* world = nullptr;
    cloud::NodeGroups* groups = nullptr;
    const cloud::NodeClaims* claims = nullptr;
    TimePoint now;
  };
  using WithWorld = std::function<void(const Sight&)>;
  struct Parts {
    DashboardOptions options;
    const autoscale::FlagValues& flags;
    const Plugins& plugins;
    Log log = Log::Null();
    std::optional<provision::Settings> node_pools = std::nullopt;  // absent: there are none
    const Metrics* metrics = nullptr;  // for what it says of errors and certificates; may be null
    // Runs it on the decision thread, soon; lets go of it if there is none any more.
    std::function<void(WithWorld)> decide;
    std::function<void(report::JsonOut&)> health = nullptr;
    std::function<std::string()> stands_by = nullptr;  // as web/site.h has it
    std::function<std::string()> control_state = nullptr;
    std::function<void(const web::Control&)> control = nullptr;
  };
  // Null if it is switched off.
  static Result<std::unique_ptr<Dashboard>> Open(Parts parts);
  ~Dashboard();

  std::string url() const;
  web::Board& board() { return board_; }

  // ---- On the decision thread.

  void PassEnded(std::shared_ptr<const report::PassReport> report, Duration took);
  void PoolsPassed(std::shared_ptr<const report::ProvisionReport> report) {
    board_.Post(std::move(report));
  }
  void SessionEnded(std::shared_ptr<const report::SessionReport> session) {
    board_.Post(std::move(session));
  }
  // Looks if it is time to (web/seen.h). `groups` may be null: there are none.
  void LookIfDue(const cluster::World& world, cloud::NodeGroups* groups, TimePoint now);

 private:
  explicit Dashboard(Parts parts);
  Status Serve();
  void WriteHealth(report::JsonOut& out) const;
  Result<std::string> WorkOut(const web::Question& question, const std::function<bool()>& stop);

  const Parts parts_;
  SystemClock clock_;
  web::Board board_;
  web::Looker looker_;
  std::unique_ptr<web::Guard> guard_;
  std::unique_ptr<web::Desk> desk_;
  std::unique_ptr<web::Site> site_;
  std::unique_ptr<net::HttpServer> server_;  // last: it asks the others
};

}  // namespace coppice::app
