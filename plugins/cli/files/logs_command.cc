// alloc logs.
#include <algorithm>
#include <atomic>
#include <thread>

#include "cli_command.h"
#include "drover/api/allocations.pb.h"
#include "drover/api/client.pb.h"
#include "drover/mutex.h"
#include "files/frames.h"
#include "files/tail.h"
#include "lookup.h"

namespace drover::cli {
namespace {

// Shared by the two logs of a task where both are shown.
struct Output {
  Mutex mutex;                          // held while something is shown
  std::atomic<bool> has_failed{false};  // of one of them: the other ends, too
};

// Shows one of them. `client` is this call's alone.
Status show_log(Client& client, v1::LogsRequest request, const std::optional<Tail>& tail, std::ostream& out,
                Output& output) {
  if (tail) {
    request.set_origin("end");
    request.set_offset(static_cast<int64_t>(std::min<uint64_t>(tail->bytes, INT64_MAX)));
  }
  const auto print = [&](const std::string& text) {
    MutexLock lock(output.mutex);
    return !output.has_failed && static_cast<bool>(out << text << std::flush);
  };
  LastLines lines(tail ? tail->lines : std::nullopt);
  FrameReader frames([&](const v1::FileFrame& frame) {
    const bool is_sign = frame.data().empty() && frame.file_event().empty();
    return print(is_sign ? lines.end() : lines.take(frame.data()));
  });
  Status status =
      client.stream<v1::ClientFiles::Logs>(request, [&](std::string_view bytes) { return frames.take(bytes); });
  print(lines.end());
  if (!frames.status().ok()) status = frames.status();
  if (!status.ok()) output.has_failed = true;
  return status;
}

// Standard output here, standard error there, each in the order in which the task wrote it.
Status show_both(Run& run, const v1::LogsRequest& request, const std::optional<Tail>& tail) {
  Output output;
  v1::LogsRequest other_request = request;
  other_request.set_type("stderr");
  Client other(run.client.options());
  Status other_status;
  std::thread reader([&] { other_status = show_log(other, other_request, tail, run.err, output); });
  const Status status = show_log(run.client, request, tail, run.out, output);
  reader.join();
  return status.ok() ? other_status : status;
}

int alloc_logs(Run& run) {
  const auto& words = run.arguments.positional();
  const auto tail = tail_of(run.arguments);
  if (!tail) return run.usage(tail.status().message());
  const bool follow = run.arguments.on("f"), only_out = run.arguments.on("stdout"),
             only_err = run.arguments.on("stderr");
  if (only_out && only_err && !follow) return run.usage("Unable to support both stdout and stderr without -f");
  auto picked = run.arguments.on("job") ? some_alloc_of(run, words[0]) : Result<std::string>(words[0]);
  if (!picked) return run.fail("Error fetching allocations", picked.status());
  auto alloc = find_alloc(run, *picked);
  if (!alloc) return run.fail("Error querying allocation", alloc.status());
  const std::string named = run.arguments.value("task");
  auto task = pick_task(alloc->message.allocation(), named.empty() && words.size() > 1 ? words[1] : named);
  if (!task) return run.fail("Failed to validate task", task.status());

  v1::LogsRequest request;
  request.set_alloc_id(alloc->message.allocation().allocation().id());
  request.set_task(*task);
  request.set_type(only_err && !only_out ? "stderr" : "stdout");
  request.set_follow(follow);
  if (follow) leave_on_interrupt();
  Output output;
  // A follower without a choice sees both.
  const bool both = follow && only_out == only_err && (only_out || !*tail);
  const Status status = both ? show_both(run, request, *tail) : show_log(run.client, request, *tail, run.out, output);
  return status.ok() ? 0 : run.fail("Error reading logs", status);
}

Definition logs_definition(std::string name) {
  std::vector<Flag> flags = {on_off("stderr", "Standard error"),
                             on_off("stdout", "Standard output, the default; with -f alone, both are shown"),
                             with_value("task", "", "The task, where there are several"),
                             on_off("job", "The argument is a job: take one of its allocations"),
                             on_off("verbose", "Show full identifiers")};
  for (Flag& flag : tail_flags()) flags.push_back(std::move(flag));
  return {.name = std::move(name),
          .synopsis = "Shows what a task wrote.",
          .usage = "<allocation> [task]",
          .description =
              "  What the task wrote to its standard error goes to this command's where both are followed. How lines\n"
              "  of both lay between each other is known only of those that come meanwhile.\n",
          .flags = std::move(flags),
          .minimum = 1,
          .maximum = 2,
          .run = alloc_logs};
}

}  // namespace

std::vector<Definition> logs_commands() { return {logs_definition("alloc logs"), logs_definition("logs")}; }

}  // namespace drover::cli
