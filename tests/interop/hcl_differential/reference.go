// The reference side of the differential test: reads one JSON object a line, {"kind": "expression", "body" or
// "format", "text": …}, has the Go implementation of HCL evaluate or format the text, and answers with {"value": …} or {"error": …} a line.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/tryfunc"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/hashicorp/hcl/v2/hclwrite"
	ctyyaml "github.com/zclconf/go-cty-yaml"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"
	"github.com/zclconf/go-cty/cty/function/stdlib"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

type question struct {
	Kind string
	Text string
}

type answer struct {
	Value json.RawMessage `json:"value,omitempty"`
	Error string          `json:"error,omitempty"`
}

var functions = map[string]function.Function{
	"abs": stdlib.AbsoluteFunc, "ceil": stdlib.CeilFunc, "floor": stdlib.FloorFunc, "log": stdlib.LogFunc,
	"max": stdlib.MaxFunc, "min": stdlib.MinFunc, "parseint": stdlib.ParseIntFunc, "pow": stdlib.PowFunc,
	"signum": stdlib.SignumFunc, "chomp": stdlib.ChompFunc, "format": stdlib.FormatFunc,
	"formatlist": stdlib.FormatListFunc, "indent": stdlib.IndentFunc, "join": stdlib.JoinFunc,
	"lower": stdlib.LowerFunc, "regex_replace": stdlib.RegexReplaceFunc, "replace": stdlib.ReplaceFunc,
	"split": stdlib.SplitFunc, "strlen": stdlib.StrlenFunc, "strrev": stdlib.ReverseFunc, "reverse": stdlib.ReverseFunc,
	"substr": stdlib.SubstrFunc, "title": stdlib.TitleFunc, "trim": stdlib.TrimFunc, "trimprefix": stdlib.TrimPrefixFunc,
	"trimspace": stdlib.TrimSpaceFunc, "trimsuffix": stdlib.TrimSuffixFunc, "upper": stdlib.UpperFunc,
	"chunklist": stdlib.ChunklistFunc, "coalesce": stdlib.CoalesceFunc, "coalescelist": stdlib.CoalesceListFunc,
	"compact": stdlib.CompactFunc, "concat": stdlib.ConcatFunc, "contains": stdlib.ContainsFunc,
	"distinct": stdlib.DistinctFunc, "element": stdlib.ElementFunc, "flatten": stdlib.FlattenFunc,
	"keys": stdlib.KeysFunc, "length": stdlib.LengthFunc, "lookup": stdlib.LookupFunc, "merge": stdlib.MergeFunc,
	"range": stdlib.RangeFunc, "setintersection": stdlib.SetIntersectionFunc, "setproduct": stdlib.SetProductFunc,
	"setunion": stdlib.SetUnionFunc, "slice": stdlib.SliceFunc, "sort": stdlib.SortFunc, "values": stdlib.ValuesFunc,
	"zipmap": stdlib.ZipmapFunc, "csvdecode": stdlib.CSVDecodeFunc, "jsondecode": stdlib.JSONDecodeFunc,
	"jsonencode": stdlib.JSONEncodeFunc, "formatdate": stdlib.FormatDateFunc, "timeadd": stdlib.TimeAddFunc,
	"yamldecode": ctyyaml.YAMLDecodeFunc, "yamlencode": ctyyaml.YAMLEncodeFunc,
	"tolist": stdlib.MakeToFunc(cty.List(cty.DynamicPseudoType)), "toset": stdlib.MakeToFunc(cty.Set(cty.DynamicPseudoType)),
	"tomap": stdlib.MakeToFunc(cty.Map(cty.DynamicPseudoType)), "tostring": stdlib.MakeToFunc(cty.String),
	"tonumber": stdlib.MakeToFunc(cty.Number), "tobool": stdlib.MakeToFunc(cty.Bool),
	"try": tryfunc.TryFunc, "can": tryfunc.CanFunc, "convert": typeexpr.ConvertFunc,
}

func context() *hcl.EvalContext {
	return &hcl.EvalContext{
		Functions: functions,
		Variables: map[string]cty.Value{
			"n": cty.NumberIntVal(5), "f": cty.NumberFloatVal(2.5), "s": cty.StringVal("text"), "t": cty.True,
			"e": cty.StringVal(""),
			"l": cty.TupleVal([]cty.Value{cty.StringVal("a"), cty.StringVal("b"), cty.StringVal("c")}),
			"o": cty.ObjectVal(map[string]cty.Value{"x": cty.NumberIntVal(1), "y": cty.StringVal("two")}),
			"d": cty.TupleVal([]cty.Value{
				cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("i1"), "v": cty.NumberIntVal(10)}),
				cty.ObjectVal(map[string]cty.Value{"id": cty.StringVal("i2"), "v": cty.NumberIntVal(20)})}),
		},
	}
}

func valueOf(v cty.Value) answer {
	if !v.IsWhollyKnown() {
		return answer{Error: "unknown"}
	}
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Value: text}
}

func evaluateExpression(text string) answer {
	expression, problems := hclsyntax.ParseExpression([]byte(text), "t", hcl.InitialPos)
	if problems.HasErrors() {
		return answer{Error: problems.Error()}
	}
	value, problems := expression.Value(context())
	if problems.HasErrors() {
		return answer{Error: problems.Error()}
	}
	return valueOf(value)
}

// A body becomes {"attributes": {name: value}, "blocks": [{type, labels, body}]}.
func walk(body *hclsyntax.Body) (interface{}, error) {
	attributes := map[string]json.RawMessage{}
	for name, attribute := range body.Attributes {
		value, problems := attribute.Expr.Value(context())
		if problems.HasErrors() {
			return nil, problems
		}
		one := valueOf(value)
		if one.Error != "" {
			return nil, fmt.Errorf("%s", one.Error)
		}
		attributes[name] = one.Value
	}
	blocks := []interface{}{}
	for _, block := range body.Blocks {
		inner, err := walk(block.Body)
		if err != nil {
			return nil, err
		}
		labels := block.Labels
		if labels == nil {
			labels = []string{}
		}
		blocks = append(blocks, map[string]interface{}{"type": block.Type, "labels": labels, "body": inner})
	}
	return map[string]interface{}{"attributes": attributes, "blocks": blocks}, nil
}

func evaluateBody(text string) answer {
	file, problems := hclsyntax.ParseConfig([]byte(text), "t", hcl.InitialPos)
	if problems.HasErrors() {
		return answer{Error: problems.Error()}
	}
	value, err := walk(file.Body.(*hclsyntax.Body))
	if err != nil {
		return answer{Error: err.Error()}
	}
	encoded, err := json.Marshal(value)
	if err != nil {
		return answer{Error: err.Error()}
	}
	return answer{Value: encoded}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(make([]byte, 1<<20), 1<<20)
	out := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked question
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		var given answer
		if asked.Kind == "format" {
			text, _ := json.Marshal(string(hclwrite.Format([]byte(asked.Text))))
			given = answer{Value: text}
		} else if asked.Kind == "body" {
			given = evaluateBody(asked.Text)
		} else {
			given = evaluateExpression(asked.Text)
		}
		if err := out.Encode(given); err != nil {
			os.Exit(1)
		}
	}
}
