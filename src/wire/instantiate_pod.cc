#include "wire/codec.h"
#include "wire/tables_pod.h"

COPPICE_WIRE_KIND(coppice::model::Pod);
