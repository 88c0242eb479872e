// The author's shell: one plugin, one command a line.
#include <google/protobuf/util/json_util.h>

#include <algorithm>
#include <cstdlib>
#include <istream>
#include <ostream>
#include <sstream>

#include "drover/duration.h"
#include "kind_shell.h"
#include "nomad/plugins/device.pb.h"
#include "trial.h"

namespace drover::conformance {
namespace {

namespace device = hashicorp::nomad::plugins::device;

constexpr const char* kHelp =
    "of any plugin\n"
    "    info, schema               what it says of itself; the schema of its configuration\n"
    "    fingerprint [N]            the next N messages of the stream (1)\n"
    "    kill, restart              by SIGKILL; in order. Both start the next instance\n"
    "of a driver\n"
    "    capabilities, task-schema\n"
    "    start FILE [ID]            a task whose `config` block is the file's content; prints the handle\n"
    "    wait ID [TIME]             until it ends, at most that long (20s)\n"
    "    inspect ID, stats ID [N]   how it is; the next N samples (1)\n"
    "    signal ID NAME, stop ID [TIME [NAME]], destroy ID [force]\n"
    "    recover ID                 with the handle of its start\n"
    "    exec ID COMMAND…           a command in the task\n"
    "    logs ID                    what came on standard output and error since the last time\n"
    "    events [TIME]              what comes within that time (1s)\n"
    "    tasks                      those started here\n"
    "of a device plugin\n"
    "    reserve ID…, stats [N]\n";
constexpr const char* kHelpEnd =
    "and\n"
    "    help, quit\n";

class Shell {
 public:
  Shell(Subject& subject, Setup& setup, std::string folder, std::ostream& out)
      : setup_(setup), trial_(subject, setup, std::move(folder)), out_(out) {}

  Status begin() {
    DROVER_TRY(const auto info, trial_.info());
    is_device_ = info.type() == base::DEVICE;
    return trial_.configure();
  }
  Status obey(const std::vector<std::string>& words);
  std::string say(const Status& status);

 private:
  using Words = std::vector<std::string>;
  Status start(const Words& words);
  Status show_stream(const std::shared_ptr<Messages>& stream, const google::protobuf::Message& form, int count);
  Status reserve(const Words& words);
  Status look(const Words& words);
  Status reach(const Words& words);
  Status stats(const Words& words);
  Status events(const Words& words);
  Status print(const google::protobuf::Message& message);
  // The number of messages to read from a stream, by the last word.
  static int count_of(const Words& words, size_t at) {
    return words.size() > at ? std::max(1, std::atoi(words[at].c_str())) : 1;
  }
  static Result<std::chrono::nanoseconds> time_of(const Words& words, size_t at, std::chrono::nanoseconds fallback) {
    if (words.size() <= at) return fallback;
    return parse_duration(words[at]);
  }
  template <typename Answer, typename Request>
  Status ask(const std::string& method, const Request& request) {
    DROVER_TRY(const Answer answer, trial_.call<Answer>(method, request));
    return print(answer);
  }

  Setup& setup_;
  Trial trial_;
  std::ostream& out_;
  KindShell kinds_{trial_, [this](const google::protobuf::Message& message) { return print(message); }};
  bool is_device_ = false;
  std::map<std::string, driver::TaskHandle> handles_;
};

Status Shell::print(const google::protobuf::Message& message) {
  google::protobuf::util::JsonPrintOptions options;
  options.add_whitespace = true;
  options.preserve_proto_field_names = true;
  std::string text;
  const auto status = google::protobuf::util::MessageToJsonString(message, &text, options);
  if (!status.ok()) return internal_error("the answer has no form in JSON: " + status.ToString());
  out_ << text << (text.ends_with('\n') ? "" : "\n");
  return ok_status();
}

Status Shell::show_stream(const std::shared_ptr<Messages>& stream, const google::protobuf::Message& form, int count) {
  for (int i = 0; i < count; ++i) {
    DROVER_TRY(const std::string bytes, trial_.next(stream));
    const std::unique_ptr<google::protobuf::Message> message(form.New());
    if (!message->ParseFromString(bytes)) return failure("the plugin sent bytes that are no " + form.GetTypeName());
    DROVER_RETURN_IF_ERROR(print(*message));
  }
  return ok_status();
}

Status Shell::start(const Words& words) {
  DROVER_TRY(hcl::Value own, read_object(words[1]));
  setup_.tasks["shell"] = {.config = std::move(own)};
  DROVER_TRY(auto config, trial_.config("shell"));
  if (words.size() > 2) config.set_id(words[2]);
  driver::TaskHandle handle;
  DROVER_RETURN_IF_ERROR(trial_.start(config, &handle));
  handles_[config.id()] = handle;
  out_ << config.id() << "\n";
  return print(handle);
}

Status Shell::reserve(const Words& words) {
  device::ReserveRequest request;
  for (size_t i = 1; i < words.size(); ++i) request.add_device_ids(words[i]);
  return ask<device::ReserveResponse>("/hashicorp.nomad.plugins.device.DevicePlugin/Reserve", request);
}

Status Shell::stats(const Words& words) {
  if (is_device_) {
    device::StatsRequest request;
    *request.mutable_collection_interval() = duration_of(1s);
    return show_stream(trial_.open("/hashicorp.nomad.plugins.device.DevicePlugin/Stats", request),
                       device::StatsResponse(), count_of(words, 1));
  }
  if (words.size() < 2) return invalid_argument("stats needs the task's ID");
  return show_stream(trial_.stats(words[1]), driver::TaskStatsResponse(), count_of(words, 2));
}

Status Shell::events(const Words& words) {
  DROVER_TRY(const auto time, time_of(words, 1, 1s));
  const auto stream = trial_.open("TaskEvents", driver::TaskEventsRequest());
  std::vector<std::string> all;
  auto reading = std::async(std::launch::async, [&] {
    while (auto bytes = stream->next()) all.push_back(*std::move(bytes));
  });
  const bool has_ended = reading.wait_for(time) == std::future_status::ready;
  stream->cancel();
  reading.get();
  for (const std::string& bytes : all) {
    DROVER_TRY(const auto event, parse_message<driver::DriverTaskEvent>(bytes));
    DROVER_RETURN_IF_ERROR(print(event));
  }
  if (has_ended) return stream->status().with_context("the stream of events has ended");
  return ok_status();
}

// Commands that change nothing.
Status Shell::look(const Words& words) {
  const std::string& name = words[0];
  if (name == "info") return ask<base::PluginInfoResponse>(base_method("PluginInfo"), base::PluginInfoRequest());
  if (name == "schema")
    return ask<base::ConfigSchemaResponse>(base_method("ConfigSchema"), base::ConfigSchemaRequest());
  if (name == "capabilities") return ask<driver::CapabilitiesResponse>("Capabilities", driver::CapabilitiesRequest());
  if (name == "task-schema")
    return ask<driver::TaskConfigSchemaResponse>("TaskConfigSchema", driver::TaskConfigSchemaRequest());
  if (name == "fingerprint") {
    if (is_device_)
      return show_stream(
          trial_.open("/hashicorp.nomad.plugins.device.DevicePlugin/Fingerprint", device::FingerprintRequest()),
          device::FingerprintResponse(), count_of(words, 1));
    return show_stream(trial_.open("Fingerprint", driver::FingerprintRequest()), driver::FingerprintResponse(),
                       count_of(words, 1));
  }
  if (name == "stats") return stats(words);
  if (name == "events") return events(words);
  if (name == "tasks") {
    for (const auto& [id, handle] : handles_) {
      const auto seen = trial_.inspect(id);
      out_ << id << "  " << (seen.ok() ? TaskState_Name(seen->state()) : seen.status().message()) << "\n";
    }
    return ok_status();
  }
  if (words.size() < 2) return invalid_argument(name + " needs the task's ID");
  if (name == "inspect") {
    driver::InspectTaskRequest request;
    request.set_task_id(words[1]);
    return ask<driver::InspectTaskResponse>("InspectTask", request);
  }
  for (Pipe* pipe : {&trial_.out(), &trial_.err()}) {  // logs
    (void)pipe->read_until("\n\n\n", 20ms);
    out_ << pipe->text();
    pipe->clear();
  }
  return ok_status();
}

// Commands that do something to a task.
Status Shell::reach(const Words& words) {
  const std::string& name = words[0];
  if (words.size() < 2) return invalid_argument(name + " needs the task's ID");
  const std::string& id = words[1];
  if (name == "wait") {
    DROVER_TRY(const auto time, time_of(words, 2, 20s));
    DROVER_TRY(const auto result, trial_.wait(id, time));
    return print(result);
  }
  if (name == "stop") {
    DROVER_TRY(const auto time, time_of(words, 2, 5s));
    return trial_.stop(id, time, words.size() > 3 ? words[3] : "");
  }
  if (name == "destroy") {
    DROVER_RETURN_IF_ERROR(trial_.destroy(id, words.size() > 2 && words[2] == "force"));
    handles_.erase(id);
    return ok_status();
  }
  if (name == "recover") {
    const auto handle = handles_.find(id);
    if (handle == handles_.end()) return not_found("no task of that ID was started here");
    return trial_.recover(handle->second);
  }
  if (words.size() < 3)
    return invalid_argument(name + (name == "signal" ? " needs the signal's name" : " needs a command"));
  if (name == "signal") return trial_.signal(id, words[2]);
  DROVER_TRY(const auto done, trial_.exec(id, {words.begin() + 2, words.end()}));
  return print(done);
}

Status Shell::obey(const Words& words) {
  const std::string& name = words[0];
  const auto is_one_of = [&](std::initializer_list<const char*> names) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  if (name == "help") {
    out_ << kHelp << kKindHelp << kHelpEnd;
    return ok_status();
  }
  if (name == "kill") return trial_.replace();
  if (name == "restart") return trial_.renew();
  if (name == "start")
    return words.size() > 1 ? start(words) : invalid_argument("start needs the file of a task's config");
  if (name == "reserve") return reserve(words);
  if (is_one_of({"info", "schema", "capabilities", "task-schema", "fingerprint", "stats", "events", "tasks", "inspect",
                 "logs"}))
    return look(words);
  if (is_one_of({"wait", "stop", "destroy", "recover", "signal", "exec"})) return reach(words);
  if (const auto done = kinds_.obey(words)) return *done;
  return invalid_argument("there is no command \"" + name + "\"; see help");
}

// The error in words; when the plugin is gone, how it ended, and the next one is started.
std::string Shell::say(const Status& status) {
  std::string text = "Error: " + std::string(to_string(status.code())) + ": " + status.message();
  if (status.code() != Code::unavailable || trial_.is_alive().ok()) return text;
  Subject& subject = trial_.subject();
  subject.kill();
  text += "\nthe plugin has ended: " + subject.epitaph();
  const Status revived = trial_.replace();
  return text + (revived.ok() ? "\nthe next instance runs; `recover` finds tasks again"
                              : "\nthe next instance does not run: " + revived.message());
}

}  // namespace

Result<int> run_shell(const SubjectFactory& factory, Setup setup, std::istream& in, std::ostream& out,
                      bool has_prompt) {
  DROVER_TRY(const auto subject, factory());
  const TemporaryFolder folder;
  Shell shell(*subject, setup, folder.path(), out);
  if (Status begun = shell.begin(); !begun.ok()) {
    if (begun.code() != Code::unavailable) return begun;
    subject->kill();
    return Status(begun.code(), begun.message() + "; the plugin has ended: " + subject->epitaph());
  }
  int failures = 0;
  std::string line;
  while (out << (has_prompt ? "> " : "") << std::flush && std::getline(in, line)) {
    std::istringstream stream(line);
    std::vector<std::string> words;
    for (std::string word; stream >> word;) words.push_back(word);
    if (words.empty() || words[0].starts_with('#')) continue;
    if (words[0] == "quit" || words[0] == "exit") break;
    if (const Status status = shell.obey(words); !status.ok()) {
      out << shell.say(status) << "\n";
      ++failures;
    }
  }
  return failures;
}

}  // namespace drover::conformance
