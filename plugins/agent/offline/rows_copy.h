// A stopped agent's local rows, read from a copy: LevelDB writes into what it opens, and would leave files behind that
// the agent's user cannot read, or change what is damaged.
#pragma once

#include <memory>
#include <string>

#include "drover/plugin.h"
#include "drover/result.h"
#include "storage/local_store.h"

namespace drover::agent {

// [one thread]
class RowsCopy {
 public:
  // `data_dir`: the agent's, or the folder `local` in it. Errors: not_found when neither has rows; failed_precondition
  // when an agent is using them; permission_denied; data_loss when they are damaged.
  static Result<std::unique_ptr<RowsCopy>> make(const std::string& data_dir);
  ~RowsCopy();
  RowsCopy(const RowsCopy&) = delete;

  // Those of the node agent.
  LocalStore& rows() { return *rows_; }

 private:
  RowsCopy() = default;
  std::string folder_;  // readable by this user only; gone with the copy
  std::unique_ptr<LocalDatabase> database_;
  std::unique_ptr<LocalStore> rows_;
};

}  // namespace drover::agent
