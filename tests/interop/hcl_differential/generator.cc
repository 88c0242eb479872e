#include "generator.h"

namespace drover::hcl::differential {

// SplitMix64.
uint64_t Generator::next() {
  uint64_t z = (state_ += 0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// Mostly of one type throughout, so that most of them evaluate.
std::string Generator::expression(int depth) {
  switch (below(depth > 0 ? 14 : 5)) {
    case 0:
      return number(depth);
    case 1:
      return text(depth);
    case 2:
      return boolean(depth);
    case 3:
      return list(depth);
    case 4:
      return object(depth);
    case 5:
      return "(" + expression(depth - 1) + ")";
    case 6:
      return boolean(depth - 1) + " ? " + number(depth - 1) + " : " + number(depth - 1);
    case 7:
      return list(depth - 1) + "[" + std::to_string(below(3)) + "]";
    case 8:
      return "try(" + expression(depth - 1) + ", " + expression(depth - 1) + ")";
    case 9:
      return "jsonencode(" + expression(depth - 1) + ")";
    case 10:
      return text(depth - 1) + pick({" == ", " != "}) + text(depth - 1);
    case 11:
      // Nothing that fails: here a failing result that is not taken says nothing about the type, there it may.
      return "(" + boolean(depth - 1) + " ? try(" + expression(depth - 1) + ", 0) : try(" + expression(depth - 1) +
             ", 0))";
    case 12:
      return boolean(0) + " ? try(" + collection(depth - 1) + ", []) : try(" + collection(depth - 1) + ", {})";
    default:
      return "[for x in " + list(depth - 1) + " : " + pick({"x", "[x]", "{v = x}", "\"${x}\""}) + "]";
  }
}

// Collections stay out of lists and objects, whose functions know fewer kinds of them.
std::string Generator::collection(int depth) {
  switch (below(6)) {
    case 0:
      return pick({"tolist", "toset"}) + "(" + list(depth) + ")";
    case 1:
      return "tomap(" + object(depth) + ")";
    case 2:
      return "{for k, x in toset(" + list(depth) + ") : \"${k}\" => x}";
    case 3:
      return object(depth);
    default:
      return list(depth);
  }
}

std::string Generator::number(int depth) {
  if (depth <= 0) return pick({"0", "1", "7", "2.5", "-3", "n", "f", "o.x", "d[0].v", "1e2"});
  switch (below(6)) {
    case 0:
      return number(0);
    case 1:
      return pick({"abs", "ceil", "floor"}) + "(" + number(depth - 1) + ")";
    case 2:
      return pick({"max", "min"}) + "(" + number(depth - 1) + ", " + number(depth - 1) + ")";
    case 3:
      return "length(" + list(depth - 1) + ")";
    case 4:
      return "strlen(" + text(depth - 1) + ")";
    default:
      // Never by zero, which is infinity there and an error here.
      return below(2) == 0 ? number(depth - 1) + pick({" + ", " - ", " * "}) + number(depth - 1)
                           : number(depth - 1) + pick({" / ", " % "}) + pick({"2", "5", "n", "f"});
  }
}

std::string Generator::arithmetic(int depth) {
  static constexpr std::string_view kDigits = "0123456789";
  if (depth <= 0) {
    std::string literal(1, kDigits[1 + below(9)]);
    for (size_t more = below(40); more > 0; --more) literal += kDigits[below(10)];
    if (below(2) == 0) {
      literal += '.';
      for (size_t more = 1 + below(40); more > 0; --more) literal += kDigits[below(10)];
    }
    if (below(4) == 0) literal += (below(2) == 0 ? "e" : "e-") + std::to_string(below(60));
    return literal;
  }
  switch (below(6)) {
    case 0:
      return pick({"ceil", "floor", "abs"}) + "(" + arithmetic(depth - 1) + ")";
    case 1:
      return "format(\"" + pick({"%.20f", "%e", "%g", "%v", "%.3e", "%+.8g", "%012.3f"}) + "\", " +
             arithmetic(depth - 1) + ")";
    case 2:
      return "(" + arithmetic(depth - 1) + pick({" < ", " == ", " >= "}) + arithmetic(depth - 1) + ") ? " +
             arithmetic(0) + " : " + arithmetic(0);
    default:
      return "(" + arithmetic(depth - 1) + pick({" + ", " - ", " * ", " / ", " % "}) + arithmetic(0) + ")";
  }
}

std::string Generator::text(int depth) {
  if (depth <= 0) return pick({"s", "e", "\"a\"", "\"B c\"", "\"\\u00e9\"", "o.y", "l[1]", "\"1\"", "\"x,y\""});
  switch (below(7)) {
    case 0:
      return pick({"upper", "lower", "trimspace", "strrev", "title"}) + "(" + text(depth - 1) + ")";
    case 1:
      return "\"<${" + text(depth - 1) + "}>\"";
    case 2:
      return "\"%{ if " + boolean(depth - 1) + " }${" + text(depth - 1) + "}%{ else }-%{ endif }\"";
    case 3:
      return "join(\"-\", split(\",\", " + text(depth - 1) + "))";
    case 4:
      return "substr(" + text(depth - 1) + ", " + std::to_string(below(4)) + ", " + std::to_string(below(5)) + ")";
    case 5:
      return "replace(" + text(depth - 1) + ", \"a\", " + text(depth - 1) + ")";
    default:
      return "format(\"%s/%s\", " + text(depth - 1) + ", " + number(depth - 1) + ")";
  }
}

std::string Generator::boolean(int depth) {
  if (depth <= 0) return pick({"true", "false", "t"});
  switch (below(4)) {
    case 0:
      return number(depth - 1) + pick({" < ", " >= ", " == ", " != "}) + number(depth - 1);
    case 1:
      return "!" + boolean(0);
    case 2:
      return "(" + boolean(depth - 1) + pick({" && ", " || "}) + boolean(depth - 1) + ")";
    default:
      return "can(" + expression(depth - 1) + ")";
  }
}

std::string Generator::list(int depth) {
  if (depth <= 0) return pick({"l", "[1, 2]", "[]", "[\"b\", \"a\"]", "keys(o)", "d[*].id"});
  switch (below(5)) {
    case 0:
      return "[" + expression(depth - 1) + ", " + expression(depth - 1) + "]";
    case 1:
      return "concat(" + list(depth - 1) + ", " + list(depth - 1) + ")";
    case 2:
      return "[for i, x in " + list(depth - 1) + " : i if i != 1]";
    case 3:
      return "range(" + std::to_string(below(5)) + ")";
    default:
      return "flatten([" + list(depth - 1) + "])";
  }
}

std::string Generator::object(int depth) {
  if (depth <= 0) return pick({"o", "{}", "{a = 1}", "d[0]"});
  switch (below(3)) {
    case 0:
      return "{a = " + expression(depth - 1) + ", b = " + expression(depth - 1) + "}";
    case 1:
      return "merge(" + object(depth - 1) + ", " + object(depth - 1) + ")";
    default:
      return "{for i, x in " + list(depth - 1) + " : \"k${i}\" => x}";
  }
}

}  // namespace drover::hcl::differential
