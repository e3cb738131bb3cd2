// Acme's autoscaler: everything that Coppice has, and four things of ours.

#include "app/main.h"
#include "acme.h"

int main(int argc, char** argv) {
  coppice::app::Plugins plugins;
  coppice::app::RegisterDiscoveredPlugins(plugins);
  acme::Register(plugins.clouds);
  acme::Register(plugins.node_claims);
  acme::Register(plugins.expanders);
  acme::Register(plugins.processors);
  acme::Register(plugins.batch);
  return coppice::app::Main(argc, argv, plugins);
}
