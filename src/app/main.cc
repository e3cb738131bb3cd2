#include "app/main.h"

#if defined(COPPICE_MIMALLOC)
#include <mimalloc.h>
#endif

int main(int argc, char** argv) {
#if defined(COPPICE_MIMALLOC)
  // What a worker has freed goes back to the system at once: threads that parse a large answer now
  // and then would each keep its memory for good, three times what is in use.
  mi_option_set_default(mi_option_decommit_delay, 0);
#endif
  coppice::app::Plugins plugins;
  coppice::app::RegisterDiscoveredPlugins(plugins);
  return coppice::app::Main(argc, argv, plugins);
}
