#include "wire/codec.h"
#include "wire/tables_api.h"

COPPICE_WIRE_KIND(coppice::model::PartialObjectMetadata);
COPPICE_WIRE_OBJECT(coppice::model::ApiStatus);
