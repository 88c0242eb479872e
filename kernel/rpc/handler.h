// A handler and the snapshot it looks at: one run, without the pipeline around it.
#pragma once

#include <string_view>

#include "drover/methods.h"
#include "kernel/rpc/method_table.h"

namespace drover::state {
class ReadSet;
class Store;
}  // namespace drover::state

namespace drover::rpc {

// Runs a handler that answers by itself: READ and LIST from a fresh snapshot, ACT without one. What a read looks at is
// written down in `looked`, unless that is null. `store` may be null where a method does not read.
Result<Reply> answer_once(const Method& method, state::Store* store, const CallContext& context,
                          std::string_view request, state::ReadSet* looked = nullptr);

// What a WRITE handler decides on a fresh snapshot. `meta.index` is that of what it looked at.
struct Decided {
  Decision decision;
  ReplyMeta meta;
};
Result<Decided> decide_once(const Method& method, state::Store& store, const CallContext& context,
                            std::string_view request);

}  // namespace drover::rpc
