#include "routes.h"

#include <google/protobuf/descriptor.h>

#include <algorithm>
#include <span>

#include "drover/http_form.h"

namespace drover::api {
namespace {

std::vector<std::string_view> split(std::string_view path) {
  std::vector<std::string_view> segments;
  while (!path.empty()) {
    path.remove_prefix(1);  // the slash
    const size_t end = std::min(path.find('/'), path.size());
    segments.push_back(path.substr(0, end));
    path.remove_prefix(end);
  }
  return segments;
}

int hex(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<std::string> percent_decode(std::string_view text, bool plus_is_space) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '+' && plus_is_space) {
      out += ' ';
    } else if (text[i] != '%') {
      out += text[i];
    } else {
      if (i + 2 >= text.size() || hex(text[i + 1]) < 0 || hex(text[i + 2]) < 0) return std::nullopt;
      out += static_cast<char>(hex(text[i + 1]) * 16 + hex(text[i + 2]));
      i += 2;
    }
  }
  return out;
}

Status Routes::add(const google::protobuf::MethodDescriptor& method) {
  if (!method.options().HasExtension(drover::http)) return ok_status();
  return add_form(method, method.options().GetExtension(drover::http));
}

Status Routes::add_form(const google::protobuf::MethodDescriptor& method, const Http& form) {
  const auto [path, verbs] = http_form(form);
  if (path.empty()) return invalid_argument(method.full_name() + ": its HTTP form has no path");
  const auto* data = method.input_type()->FindFieldByName("data");
  if (form.upload() && (!data || data->cpp_type() != google::protobuf::FieldDescriptor::CPPTYPE_STRING ||
                        !method.client_streaming() || !method.server_streaming())) {
    return invalid_argument(method.full_name() + ": an upload is a stream in both directions of messages with `data`");
  }
  Pattern pattern;
  for (std::string_view segment : split(path)) {
    Part part;
    if (segment.starts_with('{') && segment.ends_with('}')) {
      segment = segment.substr(1, segment.size() - 2);
      part.rest = segment.ends_with("=**");
      part.field = segment.substr(0, segment.find('='));
      if (!method.input_type()->FindFieldByName(part.field)) {
        return invalid_argument(method.full_name() + ": path field " + part.field + " is no field of its request");
      }
    } else {
      part.literal = segment;
    }
    pattern.parts.push_back(std::move(part));
  }
  auto same = [&](const Pattern& other) {
    return std::ranges::equal(pattern.parts, other.parts, [](const Part& a, const Part& b) {
      return a.literal == b.literal && a.field.empty() == b.field.empty() && a.rest == b.rest;
    });
  };
  auto at = std::ranges::find_if(patterns_, same);
  if (at == patterns_.end()) {
    patterns_.push_back(std::move(pattern));
    at = std::prev(patterns_.end());
  } else {
    for (size_t i = 0; i < at->parts.size(); ++i) {
      if (at->parts[i].field != pattern.parts[i].field) {
        return invalid_argument(method.full_name() + ": " + path +
                                " names a path field otherwise than an earlier method does");
      }
    }
  }
  for (const std::string& ending : form.reserved()) {
    const std::string ending_path = "/" + ending;
    const auto segments = split(ending_path);
    at->reserved.emplace_back(segments.begin(), segments.end());
  }
  Http own = form;
  own.clear_also();
  own.clear_reserved();
  for (const std::string_view each : verbs) {
    const std::string verb(each);
    auto [entry, is_new] = at->by_verb[verb].try_emplace(form.query(), Binding{&method, own});
    if (!is_new) {
      return already_exists(method.full_name() + ": " + verb + " " + path + " is already answered by " +
                            entry->second.method->full_name());
    }
  }
  std::ranges::stable_sort(patterns_, more_specific);
  for (const Http& further : form.also()) DROVER_RETURN_IF_ERROR(add_form(method, further));
  return ok_status();
}

std::vector<Form> Routes::forms() const {
  std::vector<Form> all;
  for (const Pattern& pattern : patterns_) {
    Form form;
    for (const Part& part : pattern.parts) {
      form.path += part.field.empty() ? "/" + part.literal : "/{" + part.field + "}";
      if (!part.field.empty()) form.fields.push_back(part.field);
    }
    for (const auto& [verb, bindings] : pattern.by_verb) {
      for (const auto& [query, binding] : bindings) {
        form.verb = verb;
        form.query = query;
        form.binding = &binding;
        all.push_back(form);
      }
    }
  }
  return all;
}

bool Routes::more_specific(const Pattern& a, const Pattern& b) {
  const auto literals = [](const Pattern& p) {
    return std::ranges::count_if(p.parts, [](const Part& part) { return part.field.empty(); });
  };
  const auto has_rest = [](const Pattern& p) { return std::ranges::any_of(p.parts, &Part::rest); };
  if (literals(a) != literals(b)) return literals(a) > literals(b);
  return !has_rest(a) && has_rest(b);
}

bool Routes::matches(const std::vector<Part>& parts, const std::vector<std::string_view>& segments,
                     std::map<std::string, std::string>& parameters) {
  const auto rest = std::ranges::find_if(parts, &Part::rest);
  if (rest == parts.end() ? parts.size() != segments.size() : parts.size() > segments.size()) return false;
  // How many segments the field with slashes takes; it is at most one.
  const size_t taken = segments.size() - parts.size() + 1;
  size_t at = 0;
  for (const Part& part : parts) {
    if (part.field.empty()) {
      if (segments[at++] != part.literal) return false;
      continue;
    }
    std::string value;
    for (size_t i = 0; i < (part.rest ? taken : 1); ++i) {
      auto decoded = percent_decode(segments[at++]);
      if (!decoded) return false;
      value += (i ? "/" : "") + *decoded;
    }
    if (value.empty()) return false;
    parameters[part.field] = std::move(value);
  }
  return true;
}

bool Routes::has_below(std::string_view path) const {
  const auto wanted = split(path);
  return std::ranges::any_of(patterns_, [&](const Pattern& pattern) {
    return pattern.parts.size() > wanted.size() &&
           std::ranges::equal(wanted, std::span(pattern.parts).first(wanted.size()), {}, {}, &Part::literal);
  });
}

bool Routes::is_reserved(const Pattern& pattern, const std::vector<std::string_view>& segments) {
  return std::ranges::any_of(pattern.reserved, [&](const std::vector<std::string>& ending) {
    return segments.size() >= pattern.parts.size() + ending.size() &&
           std::equal(ending.rbegin(), ending.rend(), segments.rbegin());
  });
}

const Binding* Routes::choose(const ByQuery& bindings, std::string_view query) {
  for (const auto& [wanted, binding] : bindings) {
    if (wanted.empty()) return &binding;
    for (std::string_view rest = query; !rest.empty();) {
      const std::string_view part = rest.substr(0, rest.find('&'));
      rest.remove_prefix(std::min(rest.size(), part.size() + 1));
      if (percent_decode(part, true) == wanted) return &binding;
    }
  }
  return nullptr;
}

Match Routes::find(std::string_view verb, std::string_view path, std::string_view query) const {
  Match match;
  if (!path.starts_with('/')) return match;
  const auto segments = split(path);
  for (const Pattern& pattern : patterns_) {
    std::map<std::string, std::string> parameters;
    if (!matches(pattern.parts, segments, parameters)) continue;
    if (is_reserved(pattern, segments)) continue;
    match.path_known = true;
    const auto bindings = pattern.by_verb.find(verb);
    const Binding* const binding = bindings == pattern.by_verb.end() ? nullptr : choose(bindings->second, query);
    if (!binding) {
      // A less specific path may take this verb, but not take the ending of this one as part of a name.
      if (std::ranges::any_of(pattern.parts, &Part::rest) && !pattern.parts.back().rest) return match;
      continue;
    }
    match.binding = binding;
    match.parameters = std::move(parameters);
    return match;
  }
  return match;
}

}  // namespace drover::api
