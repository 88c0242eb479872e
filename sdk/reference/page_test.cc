#include "page.h"

#include "gtest/gtest.h"

namespace drover::reference {
namespace {

TEST(Prose, ParagraphsFlowAndDrawingsStay) {
  EXPECT_EQ(prose({"One <name> of", "two.", "", "Then:", "", "  a ──▶ b", "", "  c", "", "after"}),
            "One \\<name> of\ntwo.\n\nThen:\n\n```text\n  a ──▶ b\n\n  c\n```\n\nafter\n");
  EXPECT_EQ(prose({"text", "  drawing", "text"}), "text\n\n```text\n  drawing\n```\n\ntext\n");
  EXPECT_EQ(prose({"code `a<b>` and *b*"}), "code `a<b>` and \\*b\\*\n");
  EXPECT_EQ(prose({}), "");
}

TEST(Prose, TheFirstSentenceIsTheSummary) {
  EXPECT_EQ(first_sentence("A driver: starts\nthings. More.\n"), "A driver.");
  EXPECT_EQ(first_sentence("Version 1.5 of\nit. More\n"), "Version 1.5 of it.");
  EXPECT_EQ(first_sentence("No end\n\nNext"), "No end");
}

TEST(HeaderPage, PublicDeclarationsWithTheirComments) {
  const Page page = header_page("t.md", "drover/t.h", R"(// A thing. It does.
//
//   a ──▶ b
#pragma once

#include <string>

namespace other {
class Elsewhere;
}

namespace drover {

// How many.
inline constexpr int kMost = 3;

// A thing.
class Thing final : public Base {
 public:
  // Values of it.
  struct Options {
    int a = 0;  // of a
  };

  explicit Thing(Options options) : options_(options) {}
  virtual ~Thing() = default;

  // Both of
  // them.
  int one() const { return 1; }
  virtual Result<std::string> two(const std::map<int, std::string>& names,
                                  int most = 3) = 0;

  void three();

  // Not seen.
 private:
  // Hidden.
  int hidden();
};

// After.
template <typename T>
T after(T value) {
  return value;
}

}  // namespace drover

// Says it.
#define DROVER_SAY(NAME) \
  say(NAME)
)");

  EXPECT_EQ(page.summary, "A thing.");
  EXPECT_EQ(page.text, R"(# drover/t.h

A thing. It does.

```text
  a ──▶ b
```

## kMost

```cpp
inline constexpr int kMost = 3;
```

How many.

## Thing

```cpp
class Thing final : public Base;
```

A thing.

### Options

```cpp
struct Options {
  int a = 0;  // of a
};
```

Values of it.

### Thing

```cpp
explicit Thing(Options options);
```

### one

```cpp
int one() const;
virtual Result<std::string> two(const std::map<int, std::string>& names,
                                int most = 3) = 0;
```

Both of
them.

### three

```cpp
void three();
```

## after

```cpp
template <typename T>
T after(T value);
```

After.

## DROVER_SAY

```cpp
DROVER_SAY(NAME)
```

Says it.
)");
}

}  // namespace
}  // namespace drover::reference
