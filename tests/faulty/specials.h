// Handlers and actions that no rule can say. The tables call them by name.
#pragma once

#include <string>

#include "reference.h"
#include "sdk/serve/server.h"

namespace drover::faulty {

using Special = Status (*)(const serve::Handler& inner, serve::Call& call, const WorldPtr& world);

// In place of a call. A name that is not known ends the process.
Special special(const std::string& name);
// At a point of a program's life.
void process_special(const std::string& name);

}  // namespace drover::faulty
