// The HCL native syntax (HashiCorp Configuration Language, version 2) and its JSON form: read, evaluate, report.
//
//   text ──parse──▶ Body (syntax) ──evaluate──▶ Node (attributes with values, blocks with bodies)
//                     └─ Diagnostics: every problem with its place, several in one run
//
// Pure: no I/O, no clock, no thread, no global state. Bodies, expressions and values are immutable once built and may
// be read from any thread; an EvalContext may be shared by readers while nobody changes it.
//
// Hostile input ends in a diagnostic, never in a crash. The limits:
//   source text            kMaxSourceBytes
//   nested syntax          kMaxNesting blocks, brackets, templates or operators inside one another
//   long operator chains   kMaxExpressionDepth (a + b + c … counts one per operator)
//   evaluated values       kMaxValueDepth containers inside one another, kMaxValueWeight bytes when printed
//   evaluation             kMaxEvaluationSteps expressions per evaluate() of a body or an expression
//   reported problems      kMaxDiagnostics, then one saying that more were found
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "drover/hcl_value.h"
#include "drover/result.h"

namespace drover::hcl {

inline constexpr size_t kMaxSourceBytes = 16u << 20;
inline constexpr size_t kMaxNesting = 200;
inline constexpr size_t kMaxExpressionDepth = 1000;
inline constexpr size_t kMaxValueDepth = 400;
inline constexpr size_t kMaxValueWeight = 64u << 20;
inline constexpr size_t kMaxEvaluationSteps = 2'000'000;
inline constexpr size_t kMaxDiagnostics = 50;

// ---- places and problems

struct Position {
  int line = 1;     // from one
  int column = 1;   // from one, in Unicode code points
  size_t byte = 0;  // from zero

  friend bool operator==(const Position&, const Position&) = default;
};

struct Range {
  Position start;
  Position end;  // one past the last character

  friend bool operator==(const Range&, const Range&) = default;
};

struct Source {
  std::string name;  // what error messages call it, usually a path
  std::string text;
  Position origin;  // where the text begins in the file that a person sees
};

enum class Severity { error, warning };

struct Diagnostic {
  Severity severity = Severity::error;
  std::string file;
  Range range;
  std::string message;  // what is wrong
  std::string hint;     // what to do about it, or empty

  // "web.hcl:3:7: error: …" on one line, with the hint.
  std::string to_string() const;
};

// The one-line form, the source line with a caret under the range, and the hint.
std::string render(const Diagnostic& diagnostic, const Source& source);

class Diagnostics {
 public:
  void add(Diagnostic diagnostic);
  void error(std::string_view file, Range range, std::string message, std::string hint = {});
  bool has_errors() const { return errors_ > 0; }
  size_t size() const { return list_.size(); }
  const Diagnostic& operator[](size_t i) const { return list_[i]; }
  auto begin() const { return list_.begin(); }
  auto end() const { return list_.end(); }

  // Ok without errors, else invalid_argument with one problem a line.
  Status status() const;
  std::string render(const Source& source) const;

 private:
  std::vector<Diagnostic> list_;
  size_t errors_ = 0;
};

// ---- syntax

struct Expr;  // the syntax tree of an expression, see sdk/hcl/ast.h

// One expression of a file, not evaluated yet. Cheap to copy. A default one evaluates to null.
class Expression {
 public:
  Expression() = default;
  Expression(std::shared_ptr<const Expr> tree, std::shared_ptr<const Source> source)
      : tree_(std::move(tree)), source_(std::move(source)) {}

  Range range() const;
  const std::string& file() const;
  // The text between range().start and range().end, or empty when the file was JSON.
  std::string_view text() const;
  const Expr* tree() const { return tree_.get(); }
  const std::shared_ptr<const Source>& source() const { return source_; }

 private:
  std::shared_ptr<const Expr> tree_;
  std::shared_ptr<const Source> source_;
};

// A reference like `local.region` or `var.ports["http"]`: the root and the literal steps that follow it.
struct Reference {
  std::string root;
  std::vector<Value> steps;  // names as strings, numeric indexes as numbers
  Range range;
};
// Every reference to a variable that the expression does not bind itself, in order of appearance.
std::vector<Reference> references(const Expression& expression);

struct Attribute {
  std::string name;
  Expression expression;
  Range name_range;
};

struct Block;

struct Body {
  std::vector<Attribute> attributes;  // in order of appearance; names are unique
  std::vector<Block> blocks;          // in order of appearance
  Range range;
  std::shared_ptr<const Source> source;

  const Attribute* find(std::string_view name) const;
};

struct Block {
  std::string type;
  std::vector<std::string> labels;
  Body body;
  Range range;  // the header: type and labels
};

// `legacy` also accepts what HCL 1 files do in bodies: quoted and dotted attribute names, commas between attributes,
// several attributes on a block's one line, and repeated attributes (the last one counts).
enum class Dialect { native, legacy };

struct File {
  std::shared_ptr<const Source> source;
  Body body;  // what could be read, when there were errors
};

// Reads native syntax. Problems go to `diagnostics`; reading continues behind each of them.
File parse(std::string name, std::string text, Diagnostics& diagnostics, Dialect dialect = Dialect::native);

// One expression, or the text of a template without quotes around it, from the beginning to the end of the text.
Expression parse_expression(std::string name, std::string text, Diagnostics& diagnostics);
Expression parse_template(std::string name, std::string text, Diagnostics& diagnostics);

// The text in the one layout that everybody uses: two spaces for each level, one around operators, equals signs and
// comments of neighbouring lines in one column. Comments, blank lines, strings and heredocs stay; the parsed file is
// the same, and formatting again changes nothing. Native syntax only. Errors: invalid_argument with the problems of a
// text that does not parse.
Result<std::string> format(std::string name, std::string text);

// True when the first character that is not white space is `{`: then the text is JSON, not native syntax.
bool looks_like_json(std::string_view text);

// The JSON form of a body. JSON does not tell blocks from attributes, so the reader of the file does: `label_count`
// gives the number of labels of the block `name` inside the blocks `path` (types from the root), or nothing when the
// name is an attribute. Strings are templates, as in native syntax; a property named "//" is a comment.
using JsonBlocks = std::function<std::optional<size_t>(std::span<const std::string> path, std::string_view name)>;
File from_json_body(std::string name, std::string text, const JsonBlocks& label_count, Diagnostics& diagnostics);

// ---- evaluation

// One call as a function sees it that looks at its arguments before they are evaluated.
class DeferredCall {
 public:
  virtual ~DeferredCall() = default;
  virtual size_t size() const = 0;
  virtual Expression argument(size_t i) const = 0;
  // Returns nothing after an error, which went into `problems` and nowhere else.
  virtual std::optional<Value> attempt(size_t i, Diagnostics& problems) = 0;
  // Returns nothing after an error, which has been reported for the whole evaluation.
  virtual std::optional<Value> evaluate(size_t i) = 0;
  virtual void report(const Diagnostics& problems) = 0;
  virtual void error(std::string message) = 0;  // at the place of the call
  // The evaluation has taken too many steps: no further attempt can succeed.
  virtual bool is_out_of_budget() const = 0;
};

class Function {
 public:
  using Call = std::function<Result<Value>(std::span<const Value>)>;
  using Deferred = std::function<std::optional<Value>(DeferredCall&)>;

  Function() = default;
  // A function of values: never called with an unknown argument, the result of such a call is unknown.
  template <typename F>
  requires std::is_invocable_r_v<Result<Value>, F&, std::span<const Value>> Function(F call)  // NOLINT: implicit
      : call_(std::move(call)) {}
  // A function of expressions: `try`, `can`, `convert`. Returns nothing after an error, which has been reported.
  static Function of_expressions(Deferred deferred) {
    Function function;
    function.deferred_ = std::move(deferred);
    return function;
  }

  // Requires: a function of values.
  Result<Value> operator()(std::span<const Value> arguments) const { return call_(arguments); }
  const Deferred& deferred() const { return deferred_; }  // empty for a function of values

  // The part of kMaxEvaluationSteps that a call takes beyond the size of its values, for functions slow by design.
  Function with_steps(size_t steps) && {
    steps_ = steps;
    return std::move(*this);
  }
  size_t steps() const { return steps_; }

 private:
  Call call_;
  Deferred deferred_;
  size_t steps_ = 0;
};

using Functions = std::map<std::string, Function, std::less<>>;

struct EvalContext {
  std::map<std::string, Value, std::less<>> variables;
  Functions functions;
  // A reference whose root no context knows becomes the string "${…}" with its source text inside, for someone who
  // evaluates later (the node agent: `${node.class}`, `${env["HOME"]}`). Otherwise it is an error.
  bool keep_unknown_interpolation = false;
  // Looked at for what this context does not have; borrowed.
  const EvalContext* parent = nullptr;
};

// The functions that every file may call. All are pure, but for uuidv4 and bcrypt, which take random bytes.
const Functions& standard_functions();

// The functions that look at files: abspath, basename, dirname, file, filebase64, fileexists, fileset, pathexpand.
// Relative paths begin at `folder`. A file larger than kMaxSourceBytes is refused.
Functions file_functions(const std::string& folder);
// The same names, for files from people who may not read this machine: each call is the error "filesystem function
// disabled".
Functions disabled_file_functions();

// Null when there was an error, which is then in `diagnostics`.
Value evaluate(const Expression& expression, const EvalContext& context, Diagnostics& diagnostics);

// A body whose expressions have been evaluated.
struct NodeAttribute {
  Value value;
  Range range;       // of the expression
  Range name_range;  // of the name
};

struct NodeBlock;

struct Node {
  std::map<std::string, NodeAttribute, std::less<>> attributes;
  std::vector<NodeBlock> blocks;
  Range range;
  std::string file;

  const Value* find(std::string_view name) const;
};

struct NodeBlock {
  std::string type;
  std::vector<std::string> labels;
  Node body;
  Range range;
};

// The node as one value: its blocks as lists of objects, their labels as members around them.
Value object_of(const Node& node);

// Evaluates a whole body. `dynamic "type" { for_each, iterator, labels, content {} }` becomes the blocks that it
// describes; an attribute whose expression fails is left out and reported.
Node evaluate(const Body& body, const EvalContext& context, Diagnostics& diagnostics);

}  // namespace drover::hcl
