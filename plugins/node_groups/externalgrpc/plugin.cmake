set(PLUGIN_DEPS grpc wire)
set(PLUGIN_LIBS coppice_proto)
