#include "jobs/follow.h"

#include "evals/eval_monitor.h"
#include "output.h"

namespace drover::cli {

void show_warnings(Run& run, const std::string& warnings) {
  if (!warnings.empty()) run.out << "Job Warnings:\n" << warnings << "\n\n";
}

int follow_evaluation(Run& run, const std::string& eval_id, const std::string& label) {
  if (eval_id.empty()) return 0;
  if (!run.arguments.on("detach")) return monitor_evaluation(run, eval_id);
  run.out << label << id_text(eval_id) << "\n";
  return 0;
}

std::vector<Flag> with_follow_flags(std::vector<Flag> flags) {
  flags.insert(flags.begin(),
               {on_off("detach", "Do not wait for the evaluation"), on_off("verbose", "Show full identifiers")});
  return flags;
}

}  // namespace drover::cli
