// The meaning of an allocation's two statuses together. Pure. [any]
#pragma once

namespace drover::v1 {
class Allocation;
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

}  // namespace drover
