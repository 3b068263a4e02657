// Package openai asks models behind OpenAI's API: OpenAI itself, Azure OpenAI, and any
// server that speaks the same protocol, such as Ollama, OpenRouter, vLLM or Cerebras.
//
// A Client is one endpoint with its key, patience and budget. From it come an Embedder and
// an LLM, which implement the contracts of package model:
//
//	client, err := openai.New(openai.Config{APIKey: os.Getenv("OPENAI_API_KEY")})
//	...
//	embedder, err := client.Embedder(openai.EmbedderConfig{
//		Model: "text-embedding-3-small", Dimensions: 384,
//	})
//	...
//	llm, err := client.LLM(openai.LLMConfig{Model: "gpt-4o-mini"})
//
// An endpoint on this machine needs no key:
//
//	openai.New(openai.Config{BaseURL: "http://localhost:11434/v1"})
//
// Azure names the resource, and its deployments where others name models:
//
//	openai.New(openai.Config{
//		BaseURL: "https://RESOURCE.openai.azure.com", APIKey: key, AzureAPIVersion: "2024-10-21",
//	})
//
// Azure's newer paths, which end in /openai/v1, need no version: leave AzureAPIVersion empty.
//
// # What it promises
//
// Texts and the key go to the configured endpoint and nowhere else: redirects are refused.
// Neither texts nor the key nor a server's own message, which may quote them, get into an
// error or a log; of a server's answer an error keeps the status, its code and the
// request's id. Answers are checked before they are believed, and their size is bounded.
// Nothing is kept but what the server was seen to refuse.
//
// A failure that may pass (429, 5xx, the network, a timeout) is tried again after a growing
// random wait, or the wait that the server asks for; others are final. Every call ends
// promptly with ctx.Err() when its context does, in a wait and in the middle of an answer.
//
// # Budgets
//
// Config.Budget caps what each tenant may use in a day; Daily is one in memory. The tenant
// is told by For, which returns a view of the same client:
//
//	embedder.For("acme").Embed(ctx, texts)
//
// The most that an attempt can cost is reserved before it and corrected after it, so calls
// at the same time cannot overrun the cap together.
//
// # What it adds to a build
//
// One module, github.com/sashabaranov/go-openai, which has no dependencies but the standard
// library, and net/http. Sizes of a program on linux/amd64 with Go 1.26, in MB, whole and
// without symbols (-ldflags "-s -w"):
//
//	                          without       with this package
//	that prints a line        2.4  (1.6)     9.7  (6.8)
//	that uses net/http        8.5  (5.9)     9.7  (6.8)
//	that opens the kernel    14.6 (10.1)    16.4 (11.4)
//
// It compiles in 3 seconds of one core when net/http is compiled already. Programs that do
// not import this package do not grow.
package openai
