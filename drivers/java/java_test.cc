// The pure parts: the command line, and the version that Java tells.
#include <gtest/gtest.h>

#include "java_task.h"
#include "java_version.h"

namespace drover::java {
namespace {

using Words = std::vector<std::string>;

TEST(JavaTask, BecomesACommandLine) {
  const struct {
    const char* name;
    const char* json;
    Words expected;
  } cases[] = {
      {"a class", R"({"class": "Main"})", {"Main"}},
      {"a class in a path", R"({"class": "Main", "class_path": "local:lib/*"})", {"-cp", "local:lib/*", "Main"}},
      {"a jar", R"({"jar_path": "local/app.jar"})", {"-jar", "local/app.jar"}},
      {"a class beside a jar is the jar's argument",
       R"({"class": "Main", "jar_path": "a.jar", "args": ["x"]})",
       {"-jar", "a.jar", "Main", "x"}},
      {"all of it",
       R"({"class": "Main", "class_path": "c", "jar_path": "a.jar", "jvm_options": ["-Xmx64m", "-Da=b"],
           "args": ["-cp", "x y"]})",
       {"-Xmx64m", "-Da=b", "-cp", "c", "-jar", "a.jar", "Main", "-cp", "x y"}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    auto options = TaskOptions::from_json(c.json);
    ASSERT_TRUE(options.ok());
    EXPECT_EQ(c.expected, arguments_of(read_task(*options)).value_or({}));
    EXPECT_TRUE(options->finish().ok());
  }
}

TEST(JavaTask, NamesAClassOrAJar) {
  EXPECT_EQ(invalid_argument("jar_path or class must be specified"),
            arguments_of({.class_path = "local", .jvm_options = {"-Xmx64m"}}).status());
}

TEST(JavaVersion, IsReadFromWhatItSays) {
  const struct {
    const char* name;
    const char* text;
    JavaVersion expected;
  } cases[] = {
      {"Debian's of today",
       "openjdk version \"17.0.9\" 2023-10-17\n"
       "OpenJDK Runtime Environment (build 17.0.9+9-Debian-1deb12u1)\n"
       "OpenJDK 64-Bit Server VM (build 17.0.9+9-Debian-1deb12u1, mixed mode, sharing)\n",
       {"17.0.9", "OpenJDK Runtime Environment (build 17.0.9+9-Debian-1deb12u1)",
        "OpenJDK 64-Bit Server VM (build 17.0.9+9-Debian-1deb12u1, mixed mode, sharing)"}},
      {"the older form",
       "java version \"1.8.0_372\"\r\nJava(TM) SE Runtime Environment\r\nJava HotSpot(TM)\r\n",
       {"1.8.0_372", "Java(TM) SE Runtime Environment", "Java HotSpot(TM)"}},
      {"variables that it picked up",
       "Picked up _JAVA_OPTIONS: -Xmx1g\nPicked up JAVA_TOOL_OPTIONS: -Da=1\nopenjdk version \"21\" 2023-09-19\nr\nv\n",
       {"21", "r", "v"}},
      {"more lines", "\n\nopenjdk 11.0.1\nr\nv\nmore\n", {"11.0.1", "r", "v"}},
      {"no number", "openjdk of today\nr\nv", {"openjdk of today", "r", "v"}},
      {"two lines", "openjdk version \"17\"\nr\n", {}},
      {"nothing", "", {}},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(c.name);
    const JavaVersion found = parse_version(c.text);
    EXPECT_EQ(c.expected.version, found.version);
    EXPECT_EQ(c.expected.runtime, found.runtime);
    EXPECT_EQ(c.expected.vm, found.vm);
  }
}

}  // namespace
}  // namespace drover::java
