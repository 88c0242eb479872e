// job init: examples, and templates that operators keep in the cluster's variables.
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli_command.h"
#include "output.h"

namespace drover::cli {
namespace {

using nlohmann::json;

constexpr std::string_view kTemplates = "nomad/job-templates/";  // variables below this path

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

    # Tells the node what to do when a task ends.
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

constexpr std::string_view kConnectExample =
    R"(# Two services that reach each other through sidecar proxies. This needs Consul and bridge networks; a
# version of drover without them refuses the job and names what it lacks.

job "countdash" {
  group "api" {
    network {
      mode = "bridge"
    }

    service {
      name = "count-api"
      port = "9001"

      connect {
        sidecar_service {}
      }
    }

    task "web" {
      driver = "docker"

      config {
        image = "hashicorpdev/counter-api:v3"
      }
    }
  }

  group "dashboard" {
    network {
      mode = "bridge"

      port "http" {
        static = 9002
        to     = 9002
      }
    }

    service {
      name = "count-dashboard"
      port = "9002"

      connect {
        sidecar_service {
          proxy {
            upstreams {
              destination_name = "count-api"
              local_bind_port  = 8080
            }
          }
        }
      }
    }

    task "dashboard" {
      driver = "docker"

      env {
        COUNTING_SERVICE_URL = "http://${NOMAD_UPSTREAM_ADDR_count_api}"
      }

      config {
        image = "hashicorpdev/counter-dashboard:v3"
      }
    }
  }
}
)";

int list_templates(Run& run) {
  auto variables =
      run.client.send({.verb = "GET", .path = "/v1/vars", .parameters = {{"prefix", std::string(kTemplates)}}});
  if (!variables) return run.fail("Error retrieving job templates from the servers", variables.status());
  if (variables->empty()) {
    run.out << "No job templates are kept; each would be a variable below " << kTemplates << "\n";
    return 0;
  }
  run.out << "Use drover job init -template=<template> with any of the following:\n";
  for (const json& variable : *variables) {
    const std::string path = variable.value("Path", "");
    run.out << "  " << (path.starts_with(kTemplates) ? path.substr(kTemplates.size()) : path) << "\n";
  }
  return 0;
}

Result<std::string> template_named(Run& run, const std::string& name) {
  DROVER_TRY(json variable,
             run.client.send({.verb = "GET", .path = "/v1/var/" + std::string(kTemplates) + percent_encode(name)}));
  const json text = variable.value("/Items/template"_json_pointer, json());
  if (!text.is_string()) {
    return not_found("the variable " + std::string(kTemplates) + name + " has no item \"template\"");
  }
  return text.get<std::string>();
}

int job_init(Run& run) {
  const Arguments& words = run.arguments;
  if (words.on("list-templates")) return list_templates(run);
  const bool is_short = words.on("short"), is_connect = words.on("connect"), is_template = words.is_set("template");
  if (is_template && (is_short || is_connect)) return run.usage("Error: -template excludes -short and -connect");
  const auto& given = words.positional();
  const std::string path = given.empty() ? "example.nomad.hcl" : given[0];
  if (std::filesystem::exists(path)) return run.usage("Job file '" + path + "' already exists");
  std::string content(is_connect ? kConnectExample : is_short ? kShortExample : kExample);
  if (is_template) {
    auto kept = template_named(run, words.value("template"));
    if (!kept) return run.fail("Error retrieving the job template", kept.status());
    content = *std::move(kept);
  }
  std::ofstream file(path, std::ios::binary);
  file << content;
  file.close();
  if (!file) return run.usage("Failed to write '" + path + "'");
  run.out << (is_template ? "Job template written to " : "Example job file written to ") << path << "\n";
  return 0;
}

Definition define_init(std::string name) {
  return {std::move(name),
          "Writes an example job file.",
          "[<filename>]",
          "  Templates are variables below nomad/job-templates/ whose item \"template\" is a job file.\n",
          {on_off("short", "Without explanations"), on_off("connect", "Services behind sidecar proxies; needs Consul"),
           with_value("template", "", "Write this template instead"),
           on_off("list-templates", "Name the templates, and write nothing")},
          0,
          1,
          job_init};
}

}  // namespace

std::vector<Definition> job_init_commands() { return {define_init("job init"), define_init("init")}; }

}  // namespace drover::cli
