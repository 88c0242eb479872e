// The reference side of the differential test: the first line is an object, each other line a template as a JSON
// string; answers with {"text": …} or {"error": …} a line, by Go's text/template.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"text/template"
)

type answer struct {
	Text  *string `json:"text,omitempty"`
	Error string  `json:"error,omitempty"`
}

// Whole numbers become int, as the API's objects have them.
func plain(value interface{}) interface{} {
	switch typed := value.(type) {
	case json.Number:
		if whole, err := typed.Int64(); err == nil {
			return int(whole)
		}
		fraction, _ := typed.Float64()
		return fraction
	case []interface{}:
		for i := range typed {
			typed[i] = plain(typed[i])
		}
	case map[string]interface{}:
		for key := range typed {
			typed[key] = plain(typed[key])
		}
	}
	return value
}

func run(text string, object interface{}) answer {
	parsed, err := template.New("the template itself").Parse(text)
	if err != nil {
		return answer{Error: err.Error()}
	}
	var out strings.Builder
	if err := parsed.Execute(&out, object); err != nil {
		return answer{Error: err.Error()}
	}
	written := out.String()
	return answer{Text: &written}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	lines.Scan()
	decoder := json.NewDecoder(strings.NewReader(lines.Text()))
	decoder.UseNumber()
	var object interface{}
	if err := decoder.Decode(&object); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	object = plain(object)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var text string
		if err := json.Unmarshal(lines.Bytes(), &text); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := out.Encode(run(text, object)); err != nil {
			os.Exit(1)
		}
	}
}
