#include "deployments/deployment_text.h"

#include "drover/v1/deployment.pb.h"
#include "output.h"

namespace drover::cli {

const std::vector<std::string> kDeploymentColumns = {"ID", "Job ID", "Job Version", "Status", "Description"};

std::vector<std::string> deployment_row(const v1::Deployment& deployment, bool verbose) {
  return {id_text(deployment.id(), verbose), deployment.job_id(), std::to_string(deployment.job_version()),
          word(deployment.status()), deployment.status_description()};
}

namespace {

// The groups; columns that no group needs are left out.
std::string groups_text(const v1::Deployment& deployment) {
  bool reverts = false, has_canaries = false, has_deadline = false;
  for (const auto& [name, group] : deployment.task_groups()) {
    reverts = reverts || group.auto_revert();
    has_canaries = has_canaries || group.desired_canaries() > 0;
    has_deadline = has_deadline || group.progress_deadline() != 0;
  }
  std::vector<std::vector<std::string>> rows(1);
  const auto head = [&](bool is_shown, const char* title) {
    if (is_shown) rows[0].emplace_back(title);
  };
  head(true, "Task Group");
  head(reverts, "Auto Revert");
  head(has_canaries, "Promoted");
  head(true, "Desired");
  head(has_canaries, "Canaries");
  head(true, "Placed");
  head(true, "Healthy");
  head(true, "Unhealthy");
  head(has_deadline, "Progress Deadline");
  for (const auto& [name, group] : sorted(deployment.task_groups())) {
    std::vector<std::string>& row = rows.emplace_back();
    const bool is_canaried = group.desired_canaries() > 0;
    row.push_back(name);
    if (reverts) row.push_back(yes_no(group.auto_revert()));
    if (has_canaries) row.push_back(is_canaried ? yes_no(group.promoted()) : "N/A");
    row.push_back(std::to_string(group.desired_total()));
    if (has_canaries) row.push_back(is_canaried ? std::to_string(group.desired_canaries()) : "N/A");
    row.push_back(std::to_string(group.placed_allocs()));
    row.push_back(std::to_string(group.healthy_allocs()));
    row.push_back(std::to_string(group.unhealthy_allocs()));
    if (has_deadline) {
      row.push_back(group.require_progress_by() == 0 ? "N/A" : full_time(group.require_progress_by()));
    }
  }
  return format_list(rows);
}

}  // namespace

std::string deployment_text(const v1::Deployment& deployment, bool with_job, bool verbose) {
  std::vector<std::pair<std::string, std::string>> pairs = {{"ID", id_text(deployment.id(), verbose)}};
  if (with_job) {
    pairs.emplace_back("Job ID", deployment.job_id());
    pairs.emplace_back("Job Version", std::to_string(deployment.job_version()));
  }
  pairs.emplace_back("Status", word(deployment.status()));
  pairs.emplace_back("Description", deployment.status_description());
  std::string text = format_pairs(pairs);
  if (!deployment.task_groups().empty()) text += "\nDeployed\n" + groups_text(deployment);
  return text;
}

}  // namespace drover::cli
