// The JSON form of bodies: the same syntax trees as from native text, so everything behind the parser is shared.
#include <algorithm>

#include "json_reader.h"
#include "parser.h"

namespace drover::hcl {
namespace {

class JsonBodyBuilder {
 public:
  JsonBodyBuilder(std::shared_ptr<const Source> source, const JsonBlocks& label_count, Diagnostics& diagnostics)
      : source_(std::move(source)),
        // Places inside the tree do not count bytes of the file when they lie inside a string, so nothing may cut its
        // text out of the file.
        textless_(std::make_shared<const Source>(Source{source_->name, {}, {}})),
        label_count_(label_count),
        diagnostics_(diagnostics) {}

  Body body(const JsonNode& node) {
    Body body;
    body.source = source_;
    body.range = node.range;
    add_members(node, body);
    return body;
  }

 private:
  // A body is an object, or an array of objects that are read as one.
  void add_members(const JsonNode& node, Body& body) {
    if (node.kind == JsonNode::Kind::array) {
      for (const JsonNode& element : node.elements) {
        if (element.kind == JsonNode::Kind::object)
          add_members(element, body);
        else
          error(element.range, "expected an object here");
      }
      return;
    }
    if (node.kind != JsonNode::Kind::object) return error(node.range, "expected an object here");
    for (const JsonMember& member : node.members) {
      if (member.name == "//") continue;
      std::optional<size_t> labels = label_count_ ? label_count_(path_, member.name) : std::nullopt;
      if (labels) {
        std::vector<std::string> given;
        path_.push_back(member.name);
        add_blocks(member, member.value, *labels, given, body);
        path_.pop_back();
      } else {
        add_attribute(member, body);
      }
    }
  }

  void add_attribute(const JsonMember& member, Body& body) {
    for (const Attribute& known : body.attributes) {
      if (known.name != member.name) continue;
      return error(member.name_range, "the attribute " + member.name + " is set twice",
                   "it is set first on line " + std::to_string(known.name_range.start.line));
    }
    if (body.attributes.size() >= kMaxAttributes) return error(member.name_range, "too many attributes in one body");
    ExprPtr tree = expression(member.value);
    if (tree) body.attributes.push_back({member.name, Expression(std::move(tree), textless_), member.name_range});
  }

  void add_blocks(const JsonMember& member, const JsonNode& node, size_t labels_left, std::vector<std::string>& labels,
                  Body& into) {
    if (node.kind == JsonNode::Kind::scalar && node.scalar.is_null()) return;
    if (node.kind == JsonNode::Kind::array) {
      for (const JsonNode& element : node.elements) add_blocks(member, element, labels_left, labels, into);
      return;
    }
    if (node.kind != JsonNode::Kind::object) {
      return error(node.range, labels_left > 0 ? "the block " + member.name + " is an object with its labels as names"
                                               : "the block " + member.name + " is an object");
    }
    if (labels_left == 0) {
      into.blocks.push_back({member.name, labels, body(node), member.name_range});
      return;
    }
    for (const JsonMember& labelled : node.members) {
      if (labelled.name == "//") continue;
      labels.push_back(labelled.name);
      add_blocks(member, labelled.value, labels_left - 1, labels, into);
      labels.pop_back();
    }
  }

  ExprPtr expression(const JsonNode& node) {
    if (node.kind == JsonNode::Kind::array) {
      std::vector<ExprPtr> elements;
      for (const JsonNode& element : node.elements) {
        if (ExprPtr built = expression(element)) elements.push_back(std::move(built));
      }
      return std::make_shared<TupleExpr>(node.range, std::move(elements));
    }
    if (node.kind == JsonNode::Kind::object) {
      std::vector<ObjectExpr::Item> items;
      for (const JsonMember& member : node.members) {
        ExprPtr key = text(member.name, member.name_range);
        ExprPtr value = expression(member.value);
        if (key && value) items.push_back({std::move(key), std::move(value)});
      }
      return std::make_shared<ObjectExpr>(node.range, std::move(items));
    }
    if (node.scalar.is_string()) return text(node.scalar.string(), node.range);
    return std::make_shared<LiteralExpr>(node.range, node.scalar);
  }

  ExprPtr text(const std::string& string, Range range) {
    if (string.find("${") == std::string::npos && string.find("%{") == std::string::npos) {
      return std::make_shared<LiteralExpr>(range, string);
    }
    Position origin = range.start;
    ++origin.column;  // behind the quote
    auto piece = std::make_shared<const Source>(Source{source_->name, string, origin});
    return Parser(piece, LexMode::template_text, Dialect::native, diagnostics_).parse_whole_template();
  }

  void error(Range range, std::string message, std::string hint = {}) {
    diagnostics_.error(source_->name, range, std::move(message), std::move(hint));
  }

  static constexpr size_t kMaxAttributes = 10'000;

  std::shared_ptr<const Source> source_;
  std::shared_ptr<const Source> textless_;
  const JsonBlocks& label_count_;
  Diagnostics& diagnostics_;
  std::vector<std::string> path_;
};

}  // namespace

File from_json_body(std::string name, std::string text, const JsonBlocks& label_count, Diagnostics& diagnostics) {
  File file{std::make_shared<const Source>(Source{std::move(name), std::move(text), {}}), {}};
  file.body.source = file.source;
  if (std::optional<JsonNode> node = read_json(*file.source, diagnostics)) {
    file.body = JsonBodyBuilder(file.source, label_count, diagnostics).body(*node);
  }
  return file;
}

}  // namespace drover::hcl
