set(PLUGIN_LIBS PkgConfig::RE2)
