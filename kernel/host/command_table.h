// The log's commands and the tables that each plugin may write; turns a committed entry into a transaction. Filled
// while plugins are declared, constant afterwards.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "drover/plugin.h"
#include "drover/result.h"

namespace drover::host {

class CommandTable {
 public:
  Status add_command(std::string_view plugin, std::string name, ApplyFunction apply);
  void add_table(std::string_view plugin, TableId table) { tables_[std::string(plugin)].insert(table.value); }
  bool knows(std::string_view name) const { return commands_.contains(name); }
  std::vector<std::string> names() const;

  // Applies one command inside `transaction`. On an error nothing of it remains once the caller rolls back.
  // Errors: unimplemented when no loaded plugin declares the command; else the apply function's own. [apply]
  Result<std::string> apply(std::string_view name, std::string_view payload, uint64_t index,
                            WriteTransaction& transaction) const;

 private:
  class Context;
  Result<std::string> run(std::string_view name, std::string_view payload, uint64_t index,
                          WriteTransaction& transaction, int depth) const;
  struct Command {
    std::string plugin;
    ApplyFunction apply;
  };
  std::map<std::string, Command, std::less<>> commands_;
  std::map<std::string, std::set<uint32_t>, std::less<>> tables_;  // by owner
};

// A command as it stands in a log entry.
std::string encode_command(std::string_view name, std::string_view payload);
struct CommandView {
  std::string_view name;
  std::string_view payload;
};
// Errors: data_loss.
Result<CommandView> decode_command(std::string_view entry);

}  // namespace drover::host
