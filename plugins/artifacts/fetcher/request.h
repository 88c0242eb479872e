// What the fetcher is asked for, and what it answers: one JSON object each, on its standard input and output.
//
// The process stands in the folder that the artifact is for (mode "file": the folder of that file), which nobody but the
// agent chose, and makes its files in `scratch` first.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "drover/result.h"

namespace drover::artifacts {

struct Request {
  std::string getter;  // http, git, hg, s3 or gcs
  std::string url;
  std::string part;  // of what is fetched; empty: all
  std::map<std::string, std::string> options, headers;
  std::string mode = "any";  // any, file, dir
  std::string file_name;     // mode "file": of the one file
  std::string scratch;       // a folder of its own, empty
  std::chrono::milliseconds timeout{};
  uint64_t most_bytes = 0, most_files = 0, most_unpacked_bytes = 0;  // 0: no limit
  bool is_isolated = true;
  bool is_insecure = false;  // certificates are not checked

  // Empty when there is none.
  std::string option(const std::string& name) const;
};

std::string to_json(const Request& request);
Result<Request> parse_request(std::string_view json);

// The answer: nothing, or the error with its code.
std::string to_json(const Status& status);
Status parse_answer(std::string_view json);

}  // namespace drover::artifacts
