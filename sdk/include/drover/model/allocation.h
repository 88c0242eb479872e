// The meaning of an allocation's two statuses together. Pure. [any]
#pragma once

#include <cstdint>

namespace drover::v1 {
class Allocation;
class Job;
enum ClientStatus : int;
}  // namespace drover::v1

namespace drover {

// The servers no longer want it to run.
bool server_terminal(const v1::Allocation& alloc);

// It no longer runs, and never will again.
bool client_terminal(v1::ClientStatus status);
bool client_terminal(const v1::Allocation& alloc);

// One of both: terminal allocations take nothing of their node.
bool terminal(const v1::Allocation& alloc);

// Nothing of it runs or will run again, and no rescheduling asks for what it remembers: it and its evaluation may be
// forgotten. `job`: null when it is gone. `now_ns`: since 1970.
bool may_be_forgotten(const v1::Allocation& alloc, const v1::Job* job, int64_t now_ns);

}  // namespace drover
