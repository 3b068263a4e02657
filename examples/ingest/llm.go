package main

import (
	"errors"
	"flag"
	"fmt"
	"net"
	"net/url"

	"github.com/memkernel/memkernel/kernel"
	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/kernel/model"
	"github.com/memkernel/memkernel/kernel/model/openai"
)

// llmFlags say which language model to ask, of any server that speaks OpenAI's protocol.
type llmFlags struct {
	url, model, keyEnv string
	trusted            bool
}

func (f *llmFlags) register(flags *flag.FlagSet) {
	flags.StringVar(&f.model, "llm-model", "", "have the language model `NAME` extract facts (default: none, and texts are kept as they are)")
	flags.StringVar(&f.url, "llm-url", "", "ask it at `URL`, of any server that speaks OpenAI's protocol, such as http://localhost:11434/v1 (default: OpenAI)")
	flags.StringVar(&f.keyEnv, "llm-key-env", "", "send the server the key in the environment `VARIABLE` (default OPENAI_API_KEY for OpenAI, none for others)")
	flags.BoolVar(&f.trusted, "llm-trusted", false, "the server's operator is bound to keep what it is sent, so texts with personal data may go there")
}

func (f *llmFlags) check() error {
	if f.model == "" && (f.url != "" || f.keyEnv != "" || f.trusted) {
		return errors.New("-llm-url, -llm-key-env and -llm-trusted say how to ask a model, and there is no -llm-model")
	}
	return nil
}

// open returns the model and where its server is, nil if there is to be none. It asks nothing.
func (f *llmFlags) open(getenv func(string) string) (model.LLM, kernel.Destination, error) {
	if f.model == "" {
		return nil, "", nil
	}
	keyEnv := f.keyEnv
	if f.url == "" && keyEnv == "" {
		keyEnv = "OPENAI_API_KEY" // and never to somebody else
	}
	key := ""
	if keyEnv != "" {
		if key = getenv(keyEnv); key == "" {
			return nil, "", fmt.Errorf("the language model: the environment variable %s, which is to hold its key, is not set", keyEnv)
		}
	}
	client, err := openai.New(openai.Config{BaseURL: f.url, APIKey: key})
	if err != nil {
		return nil, "", fmt.Errorf("the language model: %w", err)
	}
	llm, err := client.LLM(openai.LLMConfig{Model: f.model})
	if err != nil {
		return nil, "", fmt.Errorf("the language model: %w", err)
	}
	switch {
	case onThisMachine(f.url):
		return llm, mem.DestinationLocal, nil
	case f.trusted:
		return llm, mem.DestinationTrustedModel, nil
	default:
		return llm, mem.DestinationRemoteModel, nil
	}
}

// onThisMachine reports whether a URL leads to this machine and nowhere else.
func onThisMachine(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}
