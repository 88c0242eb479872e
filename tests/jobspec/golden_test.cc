// Every job file of this folder: read, filled with defaults, checked, given its implied constraints. The outcome is
// compared with the file's neighbour NAME.json; `jobspec_golden_test --update` writes those, to be reviewed as a diff.
//
// NAME.vars.hcl, where there is one, is a variable file. Empty values are left out of the expected job, but in the one
// called "minimal", which shows the API's form whole; so are the servers' own numbers.
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "drover/hcl.h"
#include "drover/json.h"
#include "drover/v1/job.pb.h"
#include "gtest/gtest.h"
#include "plugins/jobs/canonical.h"
#include "plugins/jobs/implied.h"
#include "plugins/jobs/validate.h"
#include "plugins/jobspec/parse.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace drover {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

bool updates = false;

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool is_empty(const json& value) {
  return value.is_null() || (value.is_string() && value == "") || (value.is_structured() && value.empty());
}

// Without what is empty, and without what the servers set.
json pruned(const json& value) {
  static const std::set<std::string> kOfServers = {"CreateIndex", "JobModifyIndex", "ModifyIndex", "SubmitTime",
                                                   "Version"};
  if (value.is_array()) {
    json out = json::array();
    for (const json& item : value) out.push_back(pruned(item));
    return out;
  }
  if (!value.is_object()) return value;
  json out = json::object();
  for (const auto& [key, item] : value.items()) {
    json inner = pruned(item);
    bool is_left_out = is_empty(inner) || (kOfServers.contains(key) && inner == 0);
    if (!is_left_out) out[key] = std::move(inner);
  }
  return out;
}

Result<v1::Job> read_job(const fs::path& path) {
  JobParser::Options options{.file_name = path.filename().string(), .folder = path.parent_path().string()};
  fs::path variables = path;
  variables.replace_extension(".vars.hcl");
  if (fs::exists(variables)) {
    options.variables.push_back(
        {JobParser::Assignment::Source::file, variables.filename().string(), read_file(variables)});
  }
  DROVER_TRY(JobParser::Parsed parsed, jobspec::Parser().parse(read_file(path), options));
  v1::Job job;
  DROVER_RETURN_IF_ERROR(json_to_message(parsed.json, job));
  return job;
}

json outcome_of(const fs::path& path) {
  Result<v1::Job> job = read_job(path);
  if (!job) return {{"problem", job.status().message()}};
  jobs::canonicalize(*job);
  jobs::Findings findings = jobs::validate(*job, {.has_vault = true});
  jobs::add_implied_constraints(*job);
  json shown = json::parse(message_to_json(*job));
  json outcome = {{"job", path.stem() == "minimal" ? shown : pruned(shown)}};
  if (!findings.errors.empty()) outcome["errors"] = findings.errors;
  if (!findings.warnings.empty()) outcome["warnings"] = findings.warnings;
  return outcome;
}

// JSON files are called .job, because files called .hcl can be formatted.
bool is_job_file(const fs::path& path) {
  return path.extension() == ".job" || (path.extension() == ".hcl" && path.stem().extension() != ".vars");
}

TEST(JobFiles, BecomeWhatIsExpected) {
  int files = 0;
  for (const auto& entry : fs::directory_iterator(JOB_FILES)) {
    const fs::path path = entry.path();
    if (!is_job_file(path)) continue;
    SCOPED_TRACE(path.filename().string());
    ++files;
    const std::string outcome = outcome_of(path).dump(2) + "\n";
    fs::path expected = path;
    expected.replace_extension(".json");
    if (updates) std::ofstream(expected, std::ios::binary) << outcome;
    EXPECT_EQ(read_file(expected), outcome);
  }
  EXPECT_GE(files, 50);
}

TEST(JobFiles, DefaultsAreFilledInOnce) {
  for (const auto& entry : fs::directory_iterator(JOB_FILES)) {
    if (!is_job_file(entry.path())) continue;
    SCOPED_TRACE(entry.path().filename().string());
    Result<v1::Job> job = read_job(entry.path());
    ASSERT_TRUE(job.ok()) << job.status().message();
    jobs::canonicalize(*job);
    jobs::add_implied_constraints(*job);
    const std::string once = message_to_json(*job);
    jobs::canonicalize(*job);
    jobs::add_implied_constraints(*job);
    EXPECT_EQ(once, message_to_json(*job));
  }
}

// A job in the API's form is itself a job file, of the same job.
TEST(JobFiles, JsonReadsBackAsTheSameJob) {
  for (const auto& entry : fs::directory_iterator(JOB_FILES)) {
    if (!is_job_file(entry.path())) continue;
    SCOPED_TRACE(entry.path().filename().string());
    Result<v1::Job> job = read_job(entry.path());
    ASSERT_TRUE(job.ok()) << job.status().message();
    const std::string text = json{{"Job", json::parse(message_to_json(*job))}}.dump();
    Result<JobParser::Parsed> parsed = jobspec::Parser().parse(text, {.file_name = "job.json"});
    ASSERT_TRUE(parsed.ok()) << parsed.status().message();
    v1::Job again;
    ASSERT_TRUE(json_to_message(parsed->json, again).ok());
    EXPECT_EQ(message_to_json(*job), message_to_json(again));
  }
}

TEST(JobFiles, LayoutIsStableAndChangesNothing) {
  for (const auto& entry : fs::directory_iterator(JOB_FILES)) {
    if (!is_job_file(entry.path()) || entry.path().extension() != ".hcl") continue;
    SCOPED_TRACE(entry.path().filename().string());
    const std::string text = read_file(entry.path());
    Result<std::string> once = hcl::format("job.hcl", text);
    ASSERT_TRUE(once.ok()) << once.status().message();
    EXPECT_EQ(*once, *hcl::format("job.hcl", *once));
    const JobParser::Options options{.file_name = "job.hcl", .folder = entry.path().parent_path().string()};
    Result<JobParser::Parsed> before = jobspec::Parser().parse(text, options);
    Result<JobParser::Parsed> after = jobspec::Parser().parse(*once, options);
    ASSERT_EQ(before.ok(), after.ok());
    EXPECT_TRUE(!before.ok() || before->json == after->json) << entry.path();
  }
}

TEST(JobFiles, MutationsNeverCrash) {
  std::vector<std::string> corpus;
  for (const auto& entry : fs::directory_iterator(JOB_FILES)) {
    if (is_job_file(entry.path())) corpus.push_back(read_file(entry.path()));
  }
  std::ranges::sort(corpus);
  std::mt19937_64 random(21);
  for (int i = 0; i < 1500; ++i) {
    std::string text = corpus[random() % corpus.size()];
    for (size_t edits = 1 + random() % 3; edits > 0; --edits) {
      const size_t at = random() % (text.size() + 1);
      const std::string& other = corpus[random() % corpus.size()];
      switch (random() % 4) {
        case 0:
          text.erase(at, 1 + random() % 12);
          break;
        case 1:  // a line of another file
          text.insert(text.find('\n', at) == std::string::npos ? at : text.find('\n', at) + 1,
                      other.substr(other.rfind('\n', random() % other.size()) + 1, 40));
          break;
        case 2:
          text.insert(at, text.substr(random() % (text.size() + 1), random() % 60));
          break;
        default:
          if (at < text.size()) text[at] = static_cast<char>(random());
      }
    }
    LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(text.data()), text.size());
  }
}

}  // namespace
}  // namespace drover

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  drover::updates = argc > 1 && std::string_view(argv[1]) == "--update";
  return RUN_ALL_TESTS();
}
