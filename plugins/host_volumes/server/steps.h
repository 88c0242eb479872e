// The steps of a volume: asking its node, and writing down what came of it.
//
//              Begun                    the node's word
//   (new) ──────────▶ MAKING ──done──▶ MADE ──Deleting──▶ DELETING ──done──▶ (gone)
//     ▲                 │  ▲ nobody knows: asked again      │  ▲ nobody knows: asked again
//     └─────refused─────┘──┘            MADE ◀──refused─────┘──┘
//
// A step is in the log before the node is asked; whoever leads goes on with it. One call at a time for a volume.
#pragma once

#include <optional>
#include <stop_token>
#include <string>

#include "drover/plugin.h"
#include "drover/turns.h"
#include "server/tables.h"

namespace drover::host_volumes {

class Steps {
 public:
  explicit Steps(const Tables& tables) : tables_(tables) {}
  void start(Host& host) { host_ = &host; }

  // Nothing: another call has the volume. Else it is in nobody else's hands until the turn ends. [any]
  std::optional<Turns::Turn> take(const std::string& id);

  // Asks the node for the step at which the row is, and writes down its answer. `term`: in which the caller decided.
  // ok: the step is done. Errors that are the node's last word (is_last_word()): the volume is what it was before.
  // Others: nobody knows, and it is tried again. [any that may wait]
  Status carry_out(const v1::DynamicHostVolume& row, uint64_t term, const std::stop_token& stop, uint64_t& index);

 private:
  Status make(const v1::DynamicHostVolume& row, uint64_t term, const std::stop_token& stop, uint64_t& index);
  Status erase(const v1::DynamicHostVolume& row, uint64_t term, const std::stop_token& stop, uint64_t& index);
  Status note(const v1::DynamicHostVolume& row, const Status& failure, uint64_t term, uint64_t& index);
  CallContext node_call(const char* method, std::stop_token stop) const;
  template <typename Command>
  Status propose(const Command& command, uint64_t term, uint64_t& index) {
    DROVER_TRY(const Applied applied, host_->propose(command, host_->clock().steady() + kProposeTime, term));
    index = applied.index;
    return ok_status();
  }

  const Tables& tables_;
  Host* host_ = nullptr;
  Turns turns_;  // of volumes
};

// The node has answered, and nothing has come of the call.
bool is_last_word(Code code);

}  // namespace drover::host_volumes
