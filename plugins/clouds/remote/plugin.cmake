set(PLUGIN_DEPS grpc rpc)
