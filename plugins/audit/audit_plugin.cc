// The audit log: a JSON object for each call of the HTTP API that this agent answers, in a file.
#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <memory>

#include "drover/audit.h"
#include "drover/config.h"
#include "drover/log.h"
#include "drover/metrics.h"
#include "drover/module.h"
#include "entry.h"
#include "log_file.h"

namespace drover::audit {
namespace {

constexpr int64_t kComplainEvery = 60'000'000'000;  // nanoseconds, about a file that takes nothing

ConfigOption sink_options() {
  return {.name = "sink",
          .type = ConfigType::labelled_block,
          .help = "The file that the entries go to; at most one.",
          .options = {
              {.name = "type", .default_text = "file", .help = "Always file.", .one_of = {"file"}},
              {.name = "format", .default_text = "json", .help = "Always json.", .one_of = {"json"}},
              {.name = "delivery_guarantee",
               .default_text = "best-effort",
               .help = "Always best-effort: a call is answered, though its entry may not be written; the agent says so.",
               .one_of = {"best-effort"}},
              {.name = "path", .help = "The file. <data_dir>/audit/audit.log by default."},
              {.name = "mode", .default_text = "0600", .help = "The file's permissions, in octal."},
              {.name = "rotate_bytes",
               .type = ConfigType::bytes,
               .default_text = "100MiB",
               .help = "Size at which the file is put away and begun anew."},
              {.name = "rotate_duration",
               .type = ConfigType::duration,
               .default_text = "24h",
               .help = "Age at which it is put away."},
              {.name = "rotate_max_files",
               .type = ConfigType::integer,
               .default_text = "0",
               .help = "Files that were put away and are kept; 0: all.",
               .min = 0}}};
}

ConfigOption filter_options() {
  return {.name = "filter",
          .type = ConfigType::labelled_block,
          .help = "Calls that are left out.",
          .options = {{.name = "type", .default_text = "HTTPEvent", .help = "Always HTTPEvent.", .one_of = {"HTTPEvent"}},
                      {.name = "endpoints",
                       .type = ConfigType::string_list,
                       .help = "Paths as the OpenAPI document has them; \"*\" at the end stands for all below.",
                       .required = true},
                      {.name = "operations", .type = ConfigType::string_list, .help = "GET, PUT, POST, DELETE; none: all."}}};
}

Result<LogFileOptions> file_options(const ConfigBlock& audit, const std::string& data_dir) {
  LogFileOptions options{.path = data_dir + "/audit/audit.log"};
  const auto sinks = audit.all("sink");
  if (sinks.size() > 1) return invalid_argument("audit: there is more than one sink");
  if (sinks.empty()) {
    options.rotate_bytes = uint64_t{100} << 20;
    options.rotate_after = std::chrono::hours(24);
    return options;
  }
  const ConfigBlock& sink = *sinks.front();
  if (const std::string path = sink.string("path"); !path.empty()) options.path = path;
  if (!std::filesystem::path(options.path).is_absolute())
    return invalid_argument("audit: the sink's path must be absolute: " + options.path);
  const std::string mode = sink.string("mode", "0600");
  if (mode.empty() || mode.size() > 4 || mode.find_first_not_of("01234567") != std::string::npos)
    return invalid_argument("audit: the sink's mode is no octal number: " + mode);
  options.mode = static_cast<unsigned>(std::stoul(mode, nullptr, 8));
  options.rotate_bytes = sink.bytes("rotate_bytes");
  options.rotate_after = sink.duration("rotate_duration");
  options.kept = static_cast<size_t>(sink.integer("rotate_max_files"));
  return options;
}

class AuditPlugin final : public Plugin, private Auditor {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare.configuration("audit", {.options = {{.name = "enabled",
                                                                        .type = ConfigType::boolean,
                                                                        .default_text = "false",
                                                                        .help = "Write an audit log."},
                                                                       sink_options(), filter_options()}}));
    return declare.extend<Auditor>("audit", *this);
  }

  Status start(Host& host) override {
    const ConfigBlock* audit = host.configuration("audit");
    if (!audit || !audit->boolean("enabled")) return ok_status();
    DROVER_TRY(LogFileOptions options, file_options(*audit, host.agent().data_dir));
    const std::string path = options.path;
    auto file = std::make_unique<LogFile>(std::move(options), host.clock());
    DROVER_RETURN_IF_ERROR(file->open().with_context("audit"));
    for (const ConfigBlock* filter : audit->all("filter"))
      filters_.push_back({filter->string_list("endpoints"), filter->string_list("operations")});
    for (const std::string& name : host.methods()) add(name);
    file_ = std::move(file);
    host_ = &host;
    is_on_.store(true, std::memory_order_release);
    log::info("audit", "writing an audit log", {{"path", path}, {"methods", methods_.size()}});
    return ok_status();
  }
  void stop(SteadyTime) override {}

 private:
  void add(const std::string& name) {
    const size_t slash = name.rfind('/');
    const auto* service =
        google::protobuf::DescriptorPool::generated_pool()->FindServiceByName(name.substr(1, slash - 1));
    const auto* method = service ? service->FindMethodByName(name.substr(slash + 1)) : nullptr;
    auto what = method ? audited(*method) : std::nullopt;
    if (!what) return;
    // A method with several forms is logged while a filter leaves one of them: the call does not say by which it came.
    std::erase_if(what->forms, [this](const HttpForm& form) {
      return std::ranges::any_of(filters_, [&](const Filter& filter) { return filter.leaves_out(form); });
    });
    if (!what->forms.empty()) methods_.emplace(name, *std::move(what));
  }

  bool wants(const CallContext& context) override {
    return is_on_.load(std::memory_order_acquire) && methods_.contains(context.method);
  }
  void answered(const CallContext& context, std::string_view request, const Status& outcome) override {
    const auto at = methods_.find(context.method);
    if (!is_on_.load(std::memory_order_acquire) || at == methods_.end()) return;
    const int64_t now = host_->clock().wall_ns();
    const Status written = file_->add(line_of(at->second, context, request, outcome, host_->agent().region, now));
    if (written.ok()) return;
    host_->metrics().add("nomad.audit.lost", 1);
    int64_t last = complained_at_.load();
    if (now - last < kComplainEvery || !complained_at_.compare_exchange_strong(last, now)) return;
    log::error("audit", "an entry is lost", {{"error", written.message()}});
  }

  Host* host_ = nullptr;
  std::vector<Filter> filters_;
  std::map<std::string, Audited, std::less<>> methods_;  // by full name; constant once it is on
  std::unique_ptr<LogFile> file_;
  std::atomic<bool> is_on_{false};
  std::atomic<int64_t> complained_at_{0};
};

}  // namespace
}  // namespace drover::audit

DROVER_MODULE(drover::audit::AuditPlugin, "module", "audit", "0.1.0");
