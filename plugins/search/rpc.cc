#include "rpc.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "drover/api/search.pb.h"
#include "drover/object_name.h"
#include "drover/v1/job.pb.h"
#include "fuzzy.h"

namespace drover::search {
namespace {

constexpr std::string_view kAll = "all";
constexpr std::string_view kJobs = "jobs";
constexpr size_t kPrefixMatches = 20;  // of one context

std::string text_of(const nlohmann::json& json) {
  return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// The names of the object and of its parts that hold the text.
Matches matches_of(const Context& context, const Object& object, std::string_view row, std::string_view text) {
  Matches matches;
  if (context.name == kJobs) {
    v1::Job job;
    job.ParseFromArray(row.data(), static_cast<int>(row.size()));
    add_matches(job, text, matches);
  } else if (const auto place = place_in(object.name, text)) {
    Match match{.name = object.name, .scope = {}, .place = *place};
    if (!object.name_space.empty()) match.scope.push_back(object.name_space);
    if (!object.name_space.empty() || context.shape == Shape::id) match.scope.push_back(object.id);
    matches[std::string(context.name)].push_back(std::move(match));
  }
  return matches;
}

nlohmann::json shown(const std::vector<Match>& matches) {
  auto list = nlohmann::json::array();
  for (const Match& match : matches) {
    nlohmann::json entry = {{"ID", match.name}};
    if (!match.scope.empty()) entry["Scope"] = match.scope;
    list.push_back(std::move(entry));
  }
  return list;
}

// The identifiers that begin with the prefix; false: there are more.
bool add_identifiers(const Context& context, TableId table, const Call& call, const std::string& prefix,
                     std::vector<std::string>& found) {
  return walk(context, table, call, prefix, [&](const Object& object, std::string_view) {
    if (found.size() == kPrefixMatches) return false;
    found.push_back(object.id);
    return true;
  });
}

}  // namespace

Status Rpc::declare(Declarations& declare) {
  return declare.service("drover.v1.Search",
                         {method<&Rpc::prefix>("Prefix", this), method<&Rpc::fuzzy>("Fuzzy", this)});
}

void Rpc::start(const Host& host, const FuzzyOptions& options) {
  options_ = options;
  places_.clear();
  for (const Context& context : contexts()) {
    if (const auto table = host.find_table(context.table)) places_.push_back({&context, *table});
  }
}

Result<std::vector<Rpc::Place>> Rpc::places_of(std::string_view word, const Call& call) const {
  const auto may = [&](const Place& place) {
    return may_ask(call.permissions(), place.context->right, call.query().name_space);
  };
  std::vector<Place> places;
  if (word == kAll) {
    std::ranges::copy_if(places_, std::back_inserter(places), may);
    return places;
  }
  const auto at = std::ranges::find(places_, word, [](const Place& place) { return place.context->name; });
  if (at == places_.end()) {
    std::string names;
    for (const Place& place : places_) names += std::string(place.context->name) + " ";
    if (!names.empty()) names.pop_back();
    return invalid_argument("context must be one of [" + names + "] or 'all' for all contexts; got \"" +
                            std::string(word) + "\"");
  }
  if (!may(*at)) return access_denied();
  places.push_back(*at);
  return places;
}

Result<v1::SearchResponse> Rpc::prefix(const v1::SearchRequest& request, Call& call) {
  DROVER_TRY(const std::vector<Place> places, places_of(request.context(), call));
  v1::SearchResponse response;
  auto matches = nlohmann::json::object();
  for (const Place& place : places) {
    const std::string name(place.context->name);
    std::vector<std::string> found;
    (*response.mutable_truncations())[name] =
        !add_identifiers(*place.context, place.table, call, request.prefix(), found);
    matches[name] = std::move(found);
  }
  response.set_matches(text_of(matches));
  return response;
}

Result<v1::SearchResponse> Rpc::fuzzy(const v1::FuzzySearchRequest& request, Call& call) {
  const bool is_of_part = is_part_of_jobs(request.context());
  const std::string_view word = is_of_part ? kJobs : std::string_view(request.context());
  DROVER_TRY(const std::vector<Place> places, places_of(word, call));
  if (!options_.enabled) return failed_precondition("fuzzy search is not enabled");
  if (request.text().size() < options_.shortest_text) {
    return invalid_argument("fuzzy search query must be at least " + std::to_string(options_.shortest_text) +
                            " characters, got " + std::to_string(request.text().size()));
  }
  const std::string text = lower_case(request.text());
  v1::SearchResponse response;
  auto& truncations = *response.mutable_truncations();
  Matches matches;
  for (const Place& place : places) {
    const Context& context = *place.context;
    const std::string name(context.name);
    if (!context.has_names) {
      std::vector<std::string> found;
      truncations[name] = !add_identifiers(context, place.table, call, request.text(), found);
      for (std::string& id : found) matches[name].push_back({.name = std::move(id), .scope = {}, .place = 0});
      continue;
    }
    size_t objects = 0;
    truncations[name] = !walk(context, place.table, call, {}, [&](const Object& object, std::string_view row) {
      Matches of_object = matches_of(context, object, row, text);
      if (of_object.empty()) return true;
      if (objects++ == options_.objects) return false;
      for (auto& [kind, found] : of_object) std::ranges::move(found, std::back_inserter(matches[kind]));
      return true;
    });
  }
  auto answer = nlohmann::json::object();
  for (auto& [name, found] : matches) {
    if (is_of_part && name != request.context()) continue;
    arrange(found);
    if (found.size() > options_.results) {
      found.resize(options_.results);
      truncations[name] = true;
    }
    answer[name] = shown(found);
  }
  response.set_matches(text_of(answer));
  return response;
}

}  // namespace drover::search
