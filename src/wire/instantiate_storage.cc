#include "wire/codec.h"
#include "wire/tables_storage.h"

COPPICE_WIRE_KIND(coppice::model::PersistentVolumeClaim);
COPPICE_WIRE_KIND(coppice::model::PersistentVolume);
COPPICE_WIRE_KIND(coppice::model::StorageClass);
COPPICE_WIRE_KIND(coppice::model::CsiNode);
COPPICE_WIRE_KIND(coppice::model::CsiDriver);
COPPICE_WIRE_KIND(coppice::model::CsiStorageCapacity);
COPPICE_WIRE_KIND(coppice::model::VolumeAttachment);
