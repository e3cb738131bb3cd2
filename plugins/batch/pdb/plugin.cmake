set(PLUGIN_DEPS drain)
