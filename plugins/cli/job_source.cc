#include "job_source.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <istream>
#include <iterator>

#include "drover/api/jobs.pb.h"
#include "drover/hcl.h"
#include "drover/job_parser.h"
#include "drover/json.h"
#include "input.h"

namespace drover::cli {
namespace {

using Source = JobParser::Assignment::Source;

// NOMAD_VAR_*, then the variable files, then -var; later ones win.
Result<std::vector<JobParser::Assignment>> assignments(Run& run, v1::JobSubmission& submission) {
  std::vector<JobParser::Assignment> out;
  constexpr std::string_view kPrefix = "NOMAD_VAR_";
  for (char** at = environ; *at; ++at) {
    std::string_view entry(*at);
    const size_t equals = entry.find('=');
    if (!entry.starts_with(kPrefix) || equals == std::string_view::npos) continue;
    const std::string name(entry.substr(kPrefix.size(), equals - kPrefix.size()));
    out.push_back({Source::environment, name, std::string(entry.substr(equals + 1))});
    (*submission.mutable_variable_flags())[name] = entry.substr(equals + 1);
  }
  for (const std::string& path : run.arguments.values("var-file")) {
    DROVER_TRY(std::string text, read_text(run, path));
    submission.mutable_variables()->append(text + (text.ends_with('\n') ? "" : "\n"));
    out.push_back({Source::file, path, std::move(text)});
  }
  for (const std::string& pair : run.arguments.values("var")) {
    const size_t equals = pair.find('=');
    if (equals == std::string::npos) return invalid_argument("-var \"" + pair + "\" is not of the form name=value");
    out.push_back({Source::command_line, pair.substr(0, equals), pair.substr(equals + 1)});
    (*submission.mutable_variable_flags())[pair.substr(0, equals)] = pair.substr(equals + 1);
  }
  return out;
}

}  // namespace

std::vector<Flag> job_source_flags() {
  Flag strict =
      on_off("hcl2-strict", "A variable file may name only variables that the job file declares; on by default");
  strict.fallback = "true";
  return {with_value("var", "", "A value for a variable of the file, name=value. Repeatable."),
          with_value("var-file", "", "A file with values for variables, in HCL or JSON. Repeatable."),
          std::move(strict), on_off("json", "The file is JSON; without it that is told by the content")};
}

std::vector<Flag> integration_flags(bool consul) {
  std::vector<Flag> flags;
  for (const std::string service : {"vault", "consul"}) {
    if (service == "consul" && !consul) continue;
    flags.push_back(with_value(service + "-token", "", "Accepted and not used: tasks log in by themselves"));
    if (service == "consul") continue;
    flags.push_back(with_value(service + "-namespace", "", "Accepted and not used: tasks log in by themselves"));
  }
  return flags;
}

void warn_of_integrations(Run& run) {
  for (const char* flag : {"vault-token", "vault-namespace", "consul-token"}) {
    if (run.arguments.is_set(flag)) {
      run.err << "Warning: -" << flag
              << " is not used: tasks log in to Vault and Consul with identities of their own\n";
    }
  }
}

Result<v1::RegisterJobRequest> read_job_source(Run& run, const std::string& path, std::string& text) {
  DROVER_TRY(std::string source, read_text(run, path));
  if (run.arguments.on("json") && !hcl::looks_like_json(source)) {
    return invalid_argument(path + ": -json was given, and this is not JSON");
  }
  auto* parser = static_cast<JobParser*>(run.host.find_extension(JobParser::kExtensionPoint, "hcl"));
  if (!parser) return failed_precondition("no job parser is installed; install the plugin jobspec");
  JobParser::Options options{.file_name = path == "-" ? "<stdin>" : path};
  options.folder = path == "-" ? "." : std::filesystem::path(path).parent_path().string();
  options.strict = run.arguments.on("hcl2-strict");
  v1::RegisterJobRequest request;
  request.mutable_submission()->set_source(source);
  request.mutable_submission()->set_format(hcl::looks_like_json(source) ? "json" : "hcl2");
  DROVER_TRY(options.variables, assignments(run, *request.mutable_submission()));
  DROVER_TRY(JobParser::Parsed parsed, parser->parse(source, options));
  for (const std::string& warning : parsed.warnings) run.err << "Warning: " << warning << "\n";
  text = std::move(parsed.json);
  DROVER_RETURN_IF_ERROR(json_to_message("{\"Job\":" + text + "}", request));
  return request;
}

void follow_namespace(Run& run, const v1::Job& job) {
  if (!job.namespace_().empty()) run.client.set_namespace(job.namespace_());
}

}  // namespace drover::cli
