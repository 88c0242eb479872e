#include "deployments/deployment_monitor.h"

#include <chrono>

#include "deployments/deployment_text.h"
#include "drover/api/allocations.pb.h"
#include "drover/api/deployments.pb.h"
#include "output.h"

namespace drover::cli {
namespace {

constexpr auto kRollbackWithin = std::chrono::seconds(10);  // the scheduler looks at the job first

bool has_ended(const v1::Deployment& deployment) {
  switch (deployment.status()) {
    case v1::DEPLOYMENT_STATUS_SUCCESSFUL:
    case v1::DEPLOYMENT_STATUS_FAILED:
    case v1::DEPLOYMENT_STATUS_CANCELLED:
      return true;
    default:
      return false;
  }
}

std::string indented(const std::string& text) {
  std::string out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    if (end > at) out += "    " + text.substr(at, end - at);
    out += "\n";
    at = end + 1;
  }
  return out;
}

// Follows one to its end.
Result<v1::Deployment> follow_deployment(Run& run, const std::string& id, const std::string& wait) {
  run.out << "==> " << full_time(now_ns()) << ": Monitoring deployment \"" << id_text(id, run.verbose()) << "\"\n"
          << std::flush;
  v1::DeploymentRequest request;
  request.set_deployment_id(id);
  uint64_t seen = 0;
  while (true) {
    // Waits at the server for a change instead of asking again and again.
    DROVER_TRY(const auto answer,
               run.client.call<v1::Deployments::Get>(request, {{"index", std::to_string(seen)}, {"wait", wait}}));
    const v1::Deployment& deployment = answer->deployment();
    if (deployment.modify_index() != seen) {
      run.out << "    " << full_time(now_ns()) << "\n"
              << indented(deployment_text(deployment, true, run.verbose())) << "\n"
              << std::flush;
    }
    seen = deployment.modify_index();
    if (has_ended(deployment)) return deployment;
  }
}

// The deployment that takes the job back; nothing where none has begun in time.
std::string find_rollback(Run& run, const v1::Deployment& failed, const std::string& wait) {
  if (failed.status_description().find("rolling back to job version") == std::string::npos) return {};
  if (failed.status_description().find("not rolling back") != std::string::npos) return {};
  v1::OfJobRequest request;
  request.set_job_id(failed.job_id());
  const auto deadline = std::chrono::steady_clock::now() + kRollbackWithin;
  uint64_t seen = failed.modify_index();
  while (std::chrono::steady_clock::now() < deadline) {
    const auto all =
        run.client.call<v1::Deployments::OfJob>(request, {{"index", std::to_string(seen)}, {"wait", wait}});
    if (!all) return {};
    for (const v1::Deployment& each : all->message.deployments()) {
      if (each.create_index() > failed.create_index()) return each.id();
      seen = std::max(seen, each.modify_index());
    }
  }
  return {};
}

}  // namespace

int monitor_deployment(Run& run, const std::string& id, const std::string& wait) {
  const auto ended = follow_deployment(run, id, wait);
  if (!ended) return run.fail("Error fetching deployment", ended.status());
  if (ended->status() == v1::DEPLOYMENT_STATUS_SUCCESSFUL) return 0;
  if (const std::string rollback = find_rollback(run, *ended, wait); !rollback.empty()) {
    const auto back = follow_deployment(run, rollback, wait);
    if (!back) return run.fail("Error fetching rollback deployment", back.status());
  }
  return 1;
}

}  // namespace drover::cli
