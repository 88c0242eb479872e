#include "fetcher_process.h"

#include "drover/program.h"
#include "fetcher/request.h"

namespace drover::artifacts {

Status run_fetcher(const FetcherRun& run, const std::stop_token& stop) {
  const auto end = run_program({.program = run.program,
                                .arguments = {},
                                .environment = run.environment,
                                .input = run.request,
                                .folder = run.folder,
                                .time = run.time},
                               stop);
  if (stop.stop_requested()) return cancelled("the download was stopped");
  if (end.status().code() == Code::deadline_exceeded) return deadline_exceeded("the download took too long");
  if (!end) return end.status();
  return parse_answer(end->output);
}

}  // namespace drover::artifacts
