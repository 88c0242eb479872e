// Faults as text: a table of plugins with one fault each, for every check of the conformance kit at least one that it
// must notice. *.faults beside this file are the tables; a line of them:
//
//   CHECK[=WORD] CHECK[=WORD] …: RULE; RULE …     the checks that must notice it; an indented line goes on
//
// With words the line is a fault for each check, in which "@" is its word. A line "[KIND …]" says which plugins the
// following lines are for: the word of a kind, "bare" (a driver without commands and networks), "program" (only a
// process can have it). A rule is METHOD, WHEN and THEN; later rules are around earlier ones:
//
//   on METHOD,… if CONDITION and CONDITION …: ACTION, ACTION …       before the plugin hears of the call
//   answer METHOD,… if …: …                                          for each message that it answers
//   after METHOD,… if …: …                                           when it has said its status
//   at start if …: …, at serving if …: …                                when a program begins, when it can be called
//
//   conditions, each after "not" where it must not hold
//     calls OP N            how often this rule was asked, this time included
//     instance OP N         how many instances there were, this one included
//     open METHOD [OP N]    calls being answered now, this one included
//     marked MARK [OP N]    how often the action `mark` was taken
//     running OP N          tasks in the world
//     crashed METHOD        the end of an earlier instance broke off such a call
//     task WORD             the call's task has this kind, or is `known` or `ended`
//     garbage               the request is no message
//     ok, fails CODE, says TEXT, cancelled     the status; the text of an error; nobody waits for the answer any more
//     has PATH, size PATH OP N, PATH OP TEXT  a field (fields.h) of the request, in `answer` of the answer;
//                           OP is = < > has begins ends
//     env NAME              a variable of the environment
//   actions
//     PATH = TEXT, PATH += TEXT, clear PATH   change the message
//     answer [{TEXT}]       with this message and no error
//     refuse [TEXT], say TEXT                 with the code `unknown`, with the code that it had
//     delay TIME, hang      wait, at most until nobody waits for the answer any more
//     drop, last            do not send this message; send none after it, and end
//     mark MARK, end-task, end-all            remember; end the call's task or all, as from outside
//     fall-silent           the call's task writes no more
//     break METHOD          cancels such calls of the same task, as if their callers had gone
//     log TEXT, print TEXT, setenv NAME TEXT, unsetenv NAME, exit
//     do NAME               specials.cc
//
// In a TEXT: <calls>, <instance>, <id> (of the call's task), <error>, <x*N>, and <PATH> of the message,
// <PATH:N> without its first bytes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reference.h"
#include "sdk/serve/server.h"

namespace drover::faulty {

struct Condition {
  bool is_negated = false;
  std::string what, name, op, value;
};
struct Action {
  std::string what, name, value;
};
struct Rule {
  std::string phase;
  std::vector<std::string> methods;
  std::vector<Condition> conditions;
  std::vector<Action> actions;
};
struct Fault {
  std::vector<std::string> checks;  // that must notice it
  std::vector<std::string> kinds;   // the words of its section
  std::vector<Rule> rules;
  std::string place;  // file:line

  bool is_for(std::string_view word) const;
};

// Every fault of the tables. A mistake in them ends the process, with its place. [any]
const std::vector<Fault>& faults();
// One of a kind that this check must notice, in the order of the tables; null: there are not so many.
const Fault* fault_of(std::string_view kind, std::string_view check, size_t index = 0);

// Gives the methods the fault, if there is one, and keeps the world's record of what is being answered: after all other
// changes. `fault` outlives them.
void apply(const Fault* fault, serve::Methods& methods, const WorldPtr& world);
// Carries out the rules for this point in the life of a program, "start" or "serving".
void apply_at(std::string_view point, const Fault& fault);

}  // namespace drover::faulty
