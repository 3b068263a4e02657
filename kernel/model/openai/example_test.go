package openai_test

import (
	"errors"
	"fmt"

	"github.com/memkernel/memkernel/kernel/model/openai"
)

// A local server for both models, and a cap of two million tokens per tenant and day.
func Example() {
	budget, err := openai.NewDaily(openai.DailyConfig{PerTenant: 2_000_000})
	if err != nil {
		fmt.Println(err)
		return
	}
	client, err := openai.New(openai.Config{BaseURL: "http://localhost:11434/v1", Budget: budget})
	if err != nil {
		fmt.Println(err)
		return
	}
	embedder, err := client.Embedder(openai.EmbedderConfig{Model: "nomic-embed-text", Dim: 768})
	if err != nil {
		fmt.Println(err)
		return
	}
	llm, err := client.LLM(openai.LLMConfig{Model: "qwen3:8b", Name: "qwen3-8b"})
	if err != nil {
		fmt.Println(err)
		return
	}
	info := embedder.Info()
	fmt.Println(info.Name, info.Revision, info.Dim)
	fmt.Println(llm.For("acme").Name())
	// Output:
	// nomic-embed-text 1 768
	// qwen3-8b
}

// What a tenant has left, in money.
func ExampleDaily() {
	budget, err := openai.NewDaily(openai.DailyConfig{
		PerTenant: 5_000_000, // 5 dollars
		Prices:    map[string]openai.Price{"gpt-4o-mini": {Prompt: 150_000, Answer: 600_000}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	spent, reserved := budget.Used("acme")
	fmt.Println(spent, reserved)
	// Output: 0 0
}

// What went wrong, as far as a caller may want to decide by it.
func ExampleAPIError() {
	decide := func(err error) string {
		var full *openai.BudgetError
		var api *openai.APIError
		switch {
		case errors.As(err, &full):
			return "tomorrow, at " + full.Resets.Format("15:04")
		case errors.As(err, &api) && api.RetryAfter > 0:
			return "in " + api.RetryAfter.String()
		case errors.Is(err, openai.ErrUnavailable):
			return "later"
		default:
			return "never"
		}
	}
	fmt.Println(decide(&openai.APIError{Status: 503}))
	fmt.Println(decide(&openai.APIError{Status: 401, Code: "invalid_api_key"}))
	// Output:
	// later
	// never
}
