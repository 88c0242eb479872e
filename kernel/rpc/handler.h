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

// Runs a handler that answers by itself: READ and LIST from a fresh snapshot, ACT without one. A read writes down in
// `looked` the rows it looked at, unless that is null. `store` may be null where a method does not read.
Result<Reply> answer_once(const Method& method, state::Store* store, const CallContext& context,
                          std::string_view request, state::ReadSet* looked = nullptr);

// The decision of a WRITE handler on a fresh snapshot. `meta.index` is that of the tables it looked at.
struct Decided {
  Decision decision;
  ReplyMeta meta;
};
Result<Decided> decide_once(const Method& method, state::Store& store, const CallContext& context,
                            std::string_view request);

}  // namespace drover::rpc
