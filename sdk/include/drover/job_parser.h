// Turns the text of a job file into a job. Provided by the jobspec plugin; pure but for the file functions, any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "drover/result.h"

namespace drover {

class JobParser {
 public:
  static constexpr std::string_view kExtensionPoint = "job_parser";
  virtual ~JobParser() = default;

  // Values of the file's variables from outside.
  struct Assignment {
    enum class Source {
      environment,   // one variable; ignored when the file does not declare it
      file,          // a variable file: `name` is what messages call it, `text` all of it, in HCL or JSON
      command_line,  // one variable; an error when the file does not declare it
    };
    Source source = Source::command_line;
    std::string name;
    std::string text;
  };

  struct Options {
    std::string file_name = "job.hcl";  // for messages
    // Where the paths of file functions begin. Absent: whoever wrote the file may not read files here, so that they
    // are the error "filesystem function disabled".
    std::optional<std::string> folder;
    std::vector<Assignment> variables;  // a later one wins over those before it
    bool strict = true;                 // an undeclared variable in a variable file is an error; otherwise a warning
  };
  struct Parsed {
    std::string json;  // the job in the API's form, without defaults filled in
    std::vector<std::string> warnings;
  };
  // `source` in HCL's native syntax, its JSON syntax, or the API's JSON form ({"Job": …} or {"ID": …}), told apart by
  // content.
  // Errors: invalid_argument with every problem found, each with line, column and excerpt.
  virtual Result<Parsed> parse(std::string_view source, const Options& options) const = 0;
};

}  // namespace drover
