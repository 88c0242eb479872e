// The engine's calls about containers, by their meaning, with the differences between engines smoothed.
#pragma once

#include <string>

#include "engine/answers.h"
#include "engine/engine.h"

namespace drover::docker {

Result<Container> inspect_container(Engine& engine, const std::string& id, const Patience& patience);
// Gone already is well.
Status remove_container(Engine& engine, const std::string& id);
// `signal`: a name or a number, as the engine knows it. Errors: failed_precondition when it does not run; not_found.
Status kill_container(Engine& engine, const std::string& id, const std::string& signal);
Status start_container(Engine& engine, const std::string& id);

// What an engine says in its own words. Pure.
bool is_name_in_use(const Status& status);
bool is_not_running(const Status& status);
// Worth another try at once: the connection broke, or what is behind the engine did.
bool is_transient(const Status& status);

}  // namespace drover::docker
