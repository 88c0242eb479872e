// job plan, job init.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "job_source.h"
#include "output.h"
#include "plan_text.h"

namespace drover::cli {
namespace {

using nlohmann::json;

constexpr int kPlanError = 255;  // 1 says that allocations would change

int job_plan(Run& run) {
  const std::string path = run.arguments.positional()[0];
  auto source = read_job_source(run, path);
  if (!source) return run.fail("Error getting job struct", source.status()), kPlanError;
  const json job = json::parse(source->job, nullptr, false);
  const std::string id = text(job, "ID");
  const bool shows_diff = run.arguments.on("diff");
  json request = {{"Job", job}, {"Diff", shows_diff}};
  auto plan = run.client.write("PUT", "/v1/job/" + escape(id) + "/plan", {}, request.dump());
  if (!plan) return run.fail("Error during plan", plan.status()), kPlanError;
  if (shows_diff) run.out << diff_text(member(*plan, "Diff"), run.verbose()) << "\n";
  if (std::string warnings = text(*plan, "Warnings"); !warnings.empty()) {
    run.out << "Job Warnings:\n" << warnings << "\n\n";
  }
  run.out << "Scheduler dry-run:\n- Not done by this version: whether the allocations fit shows when the job runs.\n\n";
  const std::string index = std::to_string(number(*plan, "JobModifyIndex"));
  run.out << "Job Modify Index: " << index
          << "\nTo submit the job only if nobody changes it before, run:\n\ndrover job run -check-index " << index;
  for (const char* flag : {"var", "var-file"}) {
    for (const std::string& value : run.arguments.values(flag)) run.out << " -" << flag << "=\"" << value << "\"";
  }
  run.out << " " << path << "\n";
  return changes_allocations(*plan) ? 1 : 0;
}

constexpr std::string_view kShortExample = R"(job "example" {
  group "web" {
    network {
      port "http" {}
    }

    task "server" {
      driver = "raw_exec"

      config {
        command = "python3"
        args    = ["-m", "http.server", "${NOMAD_PORT_http}"]
      }
    }
  }
}
)";

constexpr std::string_view kExample = R"(# An example job: a web server that shows its own folder.
#
#   drover job plan example.nomad.hcl     what would change
#   drover job run example.nomad.hcl      start it
#   drover job status example             see how it does
#   drover job stop example               end it

variable "count" {
  type        = number
  default     = 1
  description = "How many servers run. Give another number with -var count=3."
}

job "example" {
  # "service" runs until it is stopped; "batch" runs until it is done.
  type = "service"

  # How a new version takes the place of the running one.
  update {
    max_parallel     = 1
    min_healthy_time = "10s"
  }

  # Tasks of one group run on one node, side by side.
  group "web" {
    count = var.count

    # A port of the node. Tasks see it as NOMAD_PORT_http.
    network {
      port "http" {}
    }

    # What happens on the node when a task ends.
    restart {
      attempts = 2
      interval = "30m"
      delay    = "15s"
      mode     = "fail"
    }

    task "server" {
      driver = "raw_exec"

      config {
        command = "python3"
        args    = ["-m", "http.server", "${NOMAD_PORT_http}"]
      }

      env {
        PYTHONUNBUFFERED = "1"
      }

      resources {
        cpu    = 100 # MHz
        memory = 64  # MB
      }

      logs {
        max_files     = 3
        max_file_size = 5
      }
    }
  }
}
)";

int job_init(Run& run) {
  const auto& given = run.arguments.positional();
  const std::string path = given.empty() ? "example.nomad.hcl" : given[0];
  if (std::filesystem::exists(path)) return run.usage("Job file '" + path + "' already exists");
  std::ofstream file(path, std::ios::binary);
  file << (run.arguments.on("short") ? kShortExample : kExample);
  file.close();
  if (!file) return run.usage("Failed to write '" + path + "'");
  run.out << "Example job file written to " << path << "\n";
  return 0;
}

Definition define_plan(std::string name) {
  std::vector<Flag> flags = job_source_flags();
  Flag diff = on_off("diff", "Show what differs from the running job; on unless switched off");
  diff.fallback = "true";
  flags.push_back(std::move(diff));
  flags.push_back(on_off("verbose", "Show what is new or gone in full"));
  return {std::move(name),
          "Shows what running a job would change.",
          "<path>",
          "  The path names a job file as for job run. Exit codes: 0, no allocation would change; 1, some\n"
          "  would be created or destroyed; 255, an error.\n",
          std::move(flags),
          1,
          1,
          job_plan};
}

Definition define_init(std::string name) {
  return {std::move(name),
          "Writes an example job file.",
          "[<filename>]",
          "",
          {on_off("short", "Without explanations")},
          0,
          1,
          job_init};
}

}  // namespace

std::vector<Definition> job_plan_commands() {
  return {define_plan("job plan"), define_plan("plan"), define_init("job init"), define_init("init")};
}

}  // namespace drover::cli
