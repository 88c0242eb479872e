// Which names hold a text, and how well. Pure. [any]
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace drover::v1 {
class Job;
}

namespace drover::search {

struct Match {
  std::string name;
  std::vector<std::string> scope;  // the namespace and what the object lies in, from the outside in
  size_t place = 0;                // of the text in the name
};
using Matches = std::map<std::string, std::vector<Match>, std::less<>>;  // by context

// Where the name holds the text, whatever the name's case; nothing: nowhere. `text`: in lower case.
std::optional<size_t> place_in(std::string_view name, std::string_view text);

// The contexts that are parts of jobs: "groups", "services", "tasks", "images", "commands", "classes".
bool is_part_of_jobs(std::string_view context);

// Adds the job and its parts whose names hold the text.
void add_matches(const v1::Job& job, std::string_view text, Matches& matches);

// The best first: where the text comes early; then short names, an equal one before all; then by the alphabet.
void arrange(std::vector<Match>& matches);

}  // namespace drover::search
