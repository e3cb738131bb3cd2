set(PLUGIN_DEPS net wire)
