#include "mock_exec.h"

#include "drover/pause.h"
#include "nomad/plugins/driver.pb.h"

namespace drover::mock {
namespace {

bool say(ExecStream& stream, bool is_error, const std::string& data, bool is_last) {
  driver::ExecTaskStreamingResponse response;
  auto& part = is_error ? *response.mutable_stderr() : *response.mutable_stdout();
  part.set_data(data);
  part.set_close(is_last);
  return stream.send(response);
}

bool write(ExecStream& stream, bool is_error, const Output& output) {
  for (int64_t i = 0; !output.text.empty() && i <= output.repeat; ++i) {
    if (i > 0 && !pause_for(output.repeat_duration, stream.stop())) return false;
    if (!say(stream, is_error, output.text, false)) return false;
  }
  return true;
}

// Shows the caller's input, once that is complete.
MockCommand show_input(const ExecCommand& command, ExecStream& stream) {
  std::string input;
  while (const auto request = stream.receive(stream.stop())) {
    input += request->stdin().data();
    if (request->stdin().close()) break;
  }
  MockCommand shown;
  shown.stdout_output.text =
      std::string("TTY: ") + (command.tty ? "true" : "false") + "\nStdin:\n" + input + "\n-- close --\n";
  return shown;
}

}  // namespace

Status run_mock_exec(const ExecCommand& command, const std::optional<MockCommand>& told, ExecStream& stream) {
  MockCommand doing;
  if (command.command == std::vector<std::string>{"showinput"}) {
    doing = show_input(command, stream);
  } else if (told) {
    doing = *told;
  } else {
    return failed_precondition("no exec command is configured");
  }
  const bool is_heard = write(stream, false, doing.stdout_output) && write(stream, true, doing.stderr_output) &&
                        pause_for(doing.run_for, stream.stop()) && say(stream, false, {}, true) &&
                        say(stream, true, {}, true);
  if (!is_heard) return cancelled("the caller has gone");
  if (!doing.exit_err_msg.empty()) return Status(Code::unknown, doing.exit_err_msg);
  driver::ExecTaskStreamingResponse end;
  end.set_exited(true);
  end.mutable_result()->set_exit_code(static_cast<int32_t>(doing.exit_code));
  end.mutable_result()->set_signal(static_cast<int32_t>(doing.exit_signal));
  return stream.send(end) ? ok_status() : cancelled("the caller has gone");
}

}  // namespace drover::mock
