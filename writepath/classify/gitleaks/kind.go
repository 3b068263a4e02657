package gitleaks

import (
	"strings"

	"github.com/memkernel/memkernel/writepath/classify"
)

// kindOf returns what the rule with an id finds, or the kind given if the id does not say.
// Everything that gitleaks finds is a secret.
func kindOf(id string, otherwise classify.Kind) classify.Kind {
	switch id {
	case "aws-access-token":
		return classify.AWSAccessKey
	case "azure-ad-client-secret":
		return classify.AzureKey
	case "generic-api-key", "kubernetes-secret-yaml":
		return classify.APIKey
	case "hashicorp-tf-password", "nuget-config-password":
		return classify.Password
	case "sidekiq-sensitive-url":
		return classify.URLPassword
	case "jwt-base64":
		return classify.JWT
	}
	// The host's rules can be named after a kind.
	if k := classify.Kind(strings.ReplaceAll(id, "-", "_")); k.Secret() {
		return k
	}
	switch service, _, _ := strings.Cut(id, "-"); service {
	case "anthropic":
		return classify.AnthropicKey
	case "curl":
		return classify.Authorization
	case "databricks":
		return classify.DatabricksToken
	case "digitalocean":
		return classify.DigitalOceanToken
	case "discord":
		return classify.DiscordToken
	case "gcp":
		return classify.GCPKey
	case "github":
		return classify.GitHubToken
	case "gitlab":
		return classify.GitLabToken
	case "huggingface":
		return classify.HuggingFaceToken
	case "npm":
		return classify.NPMToken
	case "openai":
		return classify.OpenAIKey
	case "pypi":
		return classify.PyPIToken
	case "sendgrid":
		return classify.SendGridKey
	case "slack":
		return classify.SlackToken
	case "stripe":
		return classify.StripeKey
	case "telegram":
		return classify.TelegramToken
	case "twilio":
		return classify.TwilioKey
	}
	return otherwise
}
