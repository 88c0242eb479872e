#include "drover/tables.h"

#include <google/protobuf/message_lite.h>

namespace drover {

ChangedRow::~ChangedRow() { delete decoded_.load(); }

}  // namespace drover
