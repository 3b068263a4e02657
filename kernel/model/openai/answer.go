package openai

import (
	"fmt"
	"strings"

	goopenai "github.com/sashabaranov/go-openai"
)

// failed reports whether an answer may carry an error where a choice should be.
func failed(resp *goopenai.ChatCompletionResponse) bool {
	return len(resp.Choices) == 0 || resp.Choices[0].FinishReason == "error"
}

// answer returns the text of an answer that is whole.
func answer(resp *goopenai.ChatCompletionResponse) (string, error) {
	if len(resp.Choices) == 0 {
		return "", fmt.Errorf("%w: no choices", ErrMalformed)
	}
	choice := &resp.Choices[0]
	text := content(&choice.Message)
	reason := strings.ToLower(string(choice.FinishReason))
	switch {
	case choice.Message.Refusal != "":
		return text, fmt.Errorf("%w by the model", ErrRefused)
	case reason == "content_filter" || reason == "safety":
		return text, fmt.Errorf("%w by a content filter", ErrRefused)
	case reason == "length" || reason == "max_tokens" || reason == "model_length":
		return text, fmt.Errorf("%w: it reached the bound on its length", ErrTruncated)
	case reason == "error" || reason == "insufficient_system_resource":
		return text, fmt.Errorf("%w: the model stopped for lack of means", ErrTruncated)
	case reason == "tool_calls" || reason == "function_call":
		return text, fmt.Errorf("%w: the model called a tool that it was not offered", ErrMalformed)
	case strings.TrimSpace(text) == "":
		return "", fmt.Errorf("%w: the answer is empty", ErrMalformed)
	default:
		return text, nil
	}
}

// content returns a message's text, which servers send as one string or in parts.
func content(m *goopenai.ChatCompletionMessage) string {
	if len(m.MultiContent) == 0 {
		return m.Content
	}
	var b strings.Builder
	for _, part := range m.MultiContent {
		if part.Type == goopenai.ChatMessagePartTypeText {
			b.WriteString(part.Text)
		}
	}
	return b.String()
}
