package gitleaks_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/memkernel/memkernel/writepath/classify"
	"github.com/memkernel/memkernel/writepath/classify/gitleaks"
)

func Example() {
	scanner, err := gitleaks.New(gitleaks.Config{})
	if err != nil {
		panic(err)
	}
	text := "Dana runs flows with pnu_" + strings.Repeat("a1B2c3", 6) + ", the old account's."
	found, err := scanner.Scan(context.Background(), text)
	if err != nil {
		panic(err)
	}
	fmt.Println(classify.Redact(text, found))
	// Output: Dana runs flows with [redacted:saas_token], the old account's.
}
