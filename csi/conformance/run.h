// Runs checks one after the other over one plugin, which is started again when a check has cost it its life.
#pragma once

#include <chrono>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "check.h"

namespace drover::csi_kit {

struct Session;

struct Outcome {
  enum class Verdict : uint8_t { passed, failed, left_out };
  Verdict verdict = Verdict::passed;
  std::string found{};          // of a failure, or why it was left out
  std::string asked{}, came{};  // of a failure: the last call, and its answer
  std::chrono::nanoseconds took{};
};

// Undoes what the check made. Requires: the session has learnt.
Outcome run(const Check& check, Session& session);
// `done` is called after each, and says whether to go on. Returns the outcomes of those that were run.
std::vector<Outcome> run_all(std::span<const Check* const> checks, Session& session,
                             const std::function<bool(size_t index, const Outcome&)>& done);

// Unmounts what is still mounted below the folder, and removes it.
void clear(const std::string& folder);

}  // namespace drover::csi_kit
