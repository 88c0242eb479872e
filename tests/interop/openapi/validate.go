// validate FILE [PATH ANSWER]…: says what is wrong with an OpenAPI 3 document, and with answers to GETs that it describes.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"

	"github.com/getkin/kin-openapi/openapi3"
)

func check(document *openapi3.T, path, file string) error {
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var answer interface{}
	if err := json.Unmarshal(text, &answer); err != nil {
		return err
	}
	if document.Paths[path] == nil {
		return fmt.Errorf("%s is not described", path)
	}
	content := document.Paths[path].Get.Responses.Get(200).Value.Content
	if err := content.Get("application/json").Schema.Value.VisitJSON(answer); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}

func main() {
	document, err := openapi3.NewLoader().LoadFromFile(os.Args[1])
	if err == nil {
		err = document.Validate(context.Background())
	}
	for i := 2; err == nil && i+1 < len(os.Args); i += 2 {
		err = check(document, os.Args[i], os.Args[i+1])
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println("valid:", len(document.Paths), "paths")
}
