// drover-fetch: fetches one artifact into the folder in which it is started, and can do nothing else. request.h has the
// protocol. Run by the agent, never by hand.
#include <sys/prctl.h>

#include <csignal>
#include <iostream>
#include <iterator>

#include "fetcher/fetch.h"
#include "fetcher/isolation.h"

namespace drover::artifacts {
namespace {

Status carry_out(const std::string& text) {
  DROVER_TRY(const Request request, parse_request(text));
  // Never by its path: somebody may have put another folder there.
  if (request.is_isolated) DROVER_RETURN_IF_ERROR(isolate({".", request.scratch}));
  return fetch(request, ".");
}

}  // namespace
}  // namespace drover::artifacts

int main() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  const std::string request{std::istreambuf_iterator<char>(std::cin), {}};
  drover::Status status;
  try {
    status = drover::artifacts::carry_out(request);
  } catch (const std::exception& problem) {  // of the file system, mostly: a full disk, a name too long
    status = drover::unavailable(problem.what());
  }
  std::cout << drover::artifacts::to_json(status) << std::flush;
  return status.ok() ? 0 : 1;
}
