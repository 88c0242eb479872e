// The facts beside an answer without a message: when a read found nothing, the router tells what the state knew, so
// that its caller can wait for a change. They travel in the status's details; a status that carries something keeps
// that. [any]
#pragma once

#include <optional>

#include "drover/methods.h"

namespace drover {

Status with_meta(Status status, const ReplyMeta& meta);
std::optional<ReplyMeta> meta_of(const Status& status);

}  // namespace drover
