// Marks on branches that are rarely taken. A build that counts them (DROVER_COUNT_REACHED, tests/simulation/planted)
// tells which of them no test reaches; in every other build nothing of them remains.
#pragma once

#ifdef DROVER_COUNT_REACHED

namespace drover::raft {
void reach(const char* mark);
}
#define DROVER_REACH(mark) ::drover::raft::reach(mark)

#else

#define DROVER_REACH(mark) static_cast<void>(0)

#endif
