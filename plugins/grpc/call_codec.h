// Calls and answers as they travel between processes. Pure.
//
// The identity never travels: the receiver makes its own from the proof (token, node secret). A deadline travels as the
// time that is left, since clocks differ.
#pragma once

#include <string>

#include "call.pb.h"
#include "drover/methods.h"

namespace drover::wire {

v1::CallContext to_wire(const CallContext& context, SteadyTime now);
// Anonymous, with a stop token that nobody stops.
CallContext from_wire(const v1::CallContext& message, SteadyTime now);

v1::ReplyMeta to_wire(const ReplyMeta& meta);
ReplyMeta from_wire(const v1::ReplyMeta& message);

// A status as the three things that every transport here carries; the text is cut where a header would not hold it.
struct WireStatus {
  int code = 0;
  std::string text;
  std::string details;
};
WireStatus to_wire(const Status& status);
// Numbers that are no code become unknown.
Status from_wire(int code, std::string text, std::string details);

}  // namespace drover::wire
