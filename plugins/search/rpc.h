// The handlers of the Search service. They are functions of the call's view.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "contexts.h"
#include "drover/plugin.h"

namespace drover::v1 {
class FuzzySearchRequest;
class SearchRequest;
class SearchResponse;
}  // namespace drover::v1

namespace drover::search {

// The limits of fuzzy searches.
struct FuzzyOptions {
  bool enabled = true;
  size_t objects = 20;   // of one context that match; the parts of a job go with it
  size_t results = 100;  // of one context
  size_t shortest_text = 2;
};

class Rpc {
 public:
  Status declare(Declarations& declare);
  // Finds the tables of the plugins that are there.
  void start(const Host& host, const FuzzyOptions& options);

 private:
  struct Place {
    const Context* context;
    TableId table;
  };

  Result<v1::SearchResponse> prefix(const v1::SearchRequest& request, Call& call);
  Result<v1::SearchResponse> fuzzy(const v1::FuzzySearchRequest& request, Call& call);
  // The contexts that the word means and that the caller may ask for. Errors: invalid_argument; permission_denied
  // where a single one is meant.
  Result<std::vector<Place>> places_of(std::string_view word, const Call& call) const;

  std::vector<Place> places_;  // constant after start
  FuzzyOptions options_;       // the same
};

}  // namespace drover::search
