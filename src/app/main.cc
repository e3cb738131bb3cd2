#include "app/main.h"

int main(int argc, char** argv) {
  coppice::app::Plugins plugins;
  coppice::app::RegisterDiscoveredPlugins(plugins);
  return coppice::app::Main(argc, argv, plugins);
}
