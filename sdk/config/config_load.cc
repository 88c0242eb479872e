// Files to configuration blocks. Objects become blocks, so that each option keeps its own line, however it was written.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "../hcl/ast.h"
#include "../hcl/json_reader.h"
#include "drover/config.h"
#include "drover/hcl.h"

namespace drover {
namespace {

class Loader {
 public:
  Loader(std::string name, hcl::Diagnostics& diagnostics) : name_(std::move(name)), diagnostics_(diagnostics) {
    // HCL 1 has no template language: what looks like a reference is text.
    context_.keep_unknown_interpolation = true;
  }

  void fill(ConfigBlock& block, const hcl::Body& body) {
    for (const hcl::Attribute& attribute : body.attributes) {
      add(block, attribute.name, attribute.expression, body.source, place(attribute.name_range));
    }
    for (const hcl::Block& inner : body.blocks) {
      ConfigBlock& child = block.blocks.emplace_back();
      child.name = inner.type;
      child.labels = inner.labels;
      child.place = place(inner.range);
      fill(child, inner.body);
    }
  }

  void fill(ConfigBlock& block, const hcl::JsonNode& node) {
    for (const hcl::JsonMember& member : node.members) {
      using enum hcl::JsonNode::Kind;
      bool are_objects = member.value.kind == array && !member.value.elements.empty();
      for (const hcl::JsonNode& element : member.value.elements) are_objects = are_objects && element.kind == object;
      if (member.value.kind == object) {
        add_block(block, member, member.value);
      } else if (are_objects) {
        for (const hcl::JsonNode& element : member.value.elements) add_block(block, member, element);
      } else {
        block.attributes.insert_or_assign(member.name, ConfigAttribute{value(member.value), place(member.name_range)});
      }
    }
  }

 private:
  ConfigPlace place(const hcl::Range& range) const { return {name_, range.start.line}; }

  void add(ConfigBlock& block, const std::string& name, const hcl::Expression& expression,
           const std::shared_ptr<const hcl::Source>& source, ConfigPlace where) {
    const hcl::Expr* tree = expression.tree();
    if (tree && tree->kind == hcl::ExprKind::object) {
      ConfigBlock& child = block.blocks.emplace_back();
      child.name = name;
      child.place = where;
      for (const auto& item : static_cast<const hcl::ObjectExpr&>(*tree).items) {
        hcl::Value key = hcl::evaluate(hcl::Expression(item.key, source), context_, diagnostics_);
        add(child, hcl::as_string(key).value_or(""), hcl::Expression(item.value, source), source,
            place(item.key->range));
      }
      return;
    }
    if (tree && tree->kind == hcl::ExprKind::tuple) {  // a list of objects is as many blocks, as in JSON
      const auto& elements = static_cast<const hcl::TupleExpr&>(*tree).elements;
      const auto is_object = [](const hcl::ExprPtr& e) { return e->kind == hcl::ExprKind::object; };
      if (!elements.empty() && std::ranges::all_of(elements, is_object)) {
        for (const hcl::ExprPtr& element : elements)
          add(block, name, hcl::Expression(element, source), source, place(element->range));
        return;
      }
    }
    block.attributes.insert_or_assign(
        name, ConfigAttribute{hcl::evaluate(expression, context_, diagnostics_), std::move(where)});
  }

  void add_block(ConfigBlock& block, const hcl::JsonMember& member, const hcl::JsonNode& node) {
    ConfigBlock& child = block.blocks.emplace_back();
    child.name = member.name;
    child.place = place(member.name_range);
    fill(child, node);
  }

  static hcl::Value value(const hcl::JsonNode& node) {
    if (node.kind == hcl::JsonNode::Kind::scalar) return node.scalar;
    if (node.kind == hcl::JsonNode::Kind::array) {
      hcl::List list;
      for (const hcl::JsonNode& element : node.elements) list.push_back(value(element));
      return list;
    }
    hcl::Object members;
    for (const hcl::JsonMember& member : node.members) members.insert_or_assign(member.name, value(member.value));
    return members;
  }

  std::string name_;
  hcl::Diagnostics& diagnostics_;
  hcl::EvalContext context_;
};

}  // namespace

Result<ConfigBlock> parse_config(const std::string& name, const std::string& text) {
  hcl::Diagnostics diagnostics;
  Loader loader(name, diagnostics);
  ConfigBlock block;
  block.place = {name, 1};
  if (hcl::looks_like_json(text)) {
    if (std::optional<hcl::JsonNode> node = hcl::read_json({name, text, {}}, diagnostics)) loader.fill(block, *node);
  } else {
    hcl::File file = hcl::parse(name, text, diagnostics, hcl::Dialect::legacy);
    loader.fill(block, file.body);
  }
  DROVER_RETURN_IF_ERROR(diagnostics.status());
  return block;
}

Result<ConfigBlock> load_config_file(const std::string& path) {
  std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "re"), &std::fclose);
  if (!file) return errno_status(errno, "open " + path);
  std::string text;
  char buffer[1 << 14];
  while (size_t n = std::fread(buffer, 1, sizeof buffer, file.get())) {
    text.append(buffer, n);
    if (text.size() > hcl::kMaxSourceBytes) return invalid_argument(path + ": the file is too large");
  }
  if (std::ferror(file.get())) return errno_status(errno, "read " + path);
  return parse_config(path, text);
}

}  // namespace drover
