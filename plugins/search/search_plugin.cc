// Search over all kinds of objects.
#include <string>

#include "drover/config.h"
#include "drover/module.h"
#include "rpc.h"

namespace drover::search {
namespace {

ConfigOption search_block() {
  using Type = ConfigType;
  const FuzzyOptions defaults;
  return {.name = "search",
          .type = Type::block,
          .help = "Limits of searches by a part of a name.",
          .options = {{.name = "fuzzy_enabled",
                       .type = Type::boolean,
                       .default_text = "true",
                       .help = "Answer searches by a part of a name."},
                      {.name = "limit_query",
                       .type = Type::integer,
                       .default_text = std::to_string(defaults.objects),
                       .help = "Objects of a kind that a search finds at most; the parts of a job go with it.",
                       .min = 1},
                      {.name = "limit_results",
                       .type = Type::integer,
                       .default_text = std::to_string(defaults.results),
                       .help = "Results of a kind that an answer holds at most.",
                       .min = 1},
                      {.name = "min_term_length",
                       .type = Type::integer,
                       .default_text = std::to_string(defaults.shortest_text),
                       .help = "Characters that the text of a search has at least.",
                       .min = 1}}};
}

FuzzyOptions options_of(const ConfigBlock* server) {
  FuzzyOptions options;
  const ConfigBlock* block = server ? server->block("search") : nullptr;
  if (!block) return options;
  const auto size = [&](const char* name, size_t otherwise) {
    return static_cast<size_t>(block->integer(name, static_cast<int64_t>(otherwise)));
  };
  options.enabled = block->boolean("fuzzy_enabled", options.enabled);
  options.objects = size("limit_query", options.objects);
  options.results = size("limit_results", options.results);
  options.shortest_text = size("min_term_length", options.shortest_text);
  return options;
}

class SearchPlugin final : public Plugin {
 public:
  Status declare(Declarations& declare) override {
    DROVER_RETURN_IF_ERROR(declare.configuration("server", {.options = {search_block()}}));
    return rpc_.declare(declare);
  }
  Status start(Host& host) override {
    rpc_.start(host, options_of(host.configuration("server")));
    return ok_status();
  }
  void stop(SteadyTime) override {}

 private:
  Rpc rpc_;
};

}  // namespace
}  // namespace drover::search

DROVER_MODULE(drover::search::SearchPlugin, "module", "search", "0.1.0");
