package gitleaks

import (
	"cmp"
	"errors"
	"fmt"
	stdregexp "regexp"
	"slices"
	"strings"

	"github.com/spf13/viper"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/regexp"

	"github.com/memkernel/memkernel/kernel/mem"
	"github.com/memkernel/memkernel/writepath/classify"
)

// load returns the rules that cfg asks for, and what each of them finds by its id. gitleaks' own
// way goes over viper's global instance, which is the host's, logs, panics, and opens what a
// configuration names.
func load(cfg Config) (config.Config, map[string]classify.Kind, error) {
	defaults, err := parse(config.DefaultConfig)
	if err != nil {
		return config.Config{}, nil, fmt.Errorf("gitleaks: the default rules: %w", err)
	}
	dropLineLists(defaults)
	kinds := map[string]classify.Kind{}
	for i := range defaults.Rules {
		kinds[defaults.Rules[i].ID] = kindOf(defaults.Rules[i].ID, classify.SaaSToken)
	}
	rules := defaults
	if cfg.TOML != "" {
		if rules, err = parse(cfg.TOML); err == nil {
			err = resolve(rules, defaults)
		}
		if err != nil {
			return config.Config{}, nil, invalid("TOML", err)
		}
	}
	compiled, err := compile(rules)
	if err != nil {
		return config.Config{}, nil, invalid("TOML", err)
	}
	for id := range compiled.Rules {
		if kinds[id] == "" {
			kinds[id] = kindOf(id, classify.APIKey)
		}
	}
	if compiled.Allowlists, err = allow(compiled.Allowlists, cfg.Allow); err != nil {
		return config.Config{}, nil, invalid("Allow", err)
	}
	return compiled, kinds, nil
}

func invalid(field string, err error) error {
	return &mem.InvalidError{Field: field, Reason: err.Error()}
}

// parse reads a configuration. A name that gitleaks does not know is an error: it would be
// passed over, and with it what it was meant to find.
func parse(toml string) (*config.ViperConfig, error) {
	v := viper.New()
	v.SetConfigType("toml")
	if err := v.ReadConfig(strings.NewReader(toml)); err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	var c config.ViperConfig
	if err := v.UnmarshalExact(&c); err != nil {
		return nil, fmt.Errorf("it cannot be read: %w", err)
	}
	// The older way to write the same, which the default rules use.
	if c.AllowList != nil { //nolint:staticcheck // as said
		c.Allowlists, c.AllowList = append(c.Allowlists, c.AllowList), nil //nolint:staticcheck // as said
	}
	for i := range c.Rules {
		if r := &c.Rules[i]; r.AllowList != nil {
			r.Allowlists, r.AllowList = append(r.Allowlists, r.AllowList), nil
		}
	}
	return &c, nil
}

// dropLineLists takes out the lists that excuse a value for what else is on its line. A line of
// source code ends soon; one of a text may be all of it, so that a word anywhere would excuse
// everything, and looking for that word once per value takes minutes.
func dropLineLists(c *config.ViperConfig) {
	for i := range c.Rules {
		r := &c.Rules[i]
		for n := len(r.Allowlists) - 1; n >= 0; n-- {
			if r.Allowlists[n].RegexTarget == "line" {
				r.Allowlists = slices.Delete(r.Allowlists, n, n+1)
			}
		}
	}
}

// resolve does in a host's configuration what it says under extend.
func resolve(c, defaults *config.ViperConfig) error {
	switch {
	case c.Extend.Path != "" || c.Extend.URL != "":
		return errors.New("extend may name the default rules, but no file and no URL")
	case c.Extend.UseDefault:
		if err := extend(c, defaults); err != nil {
			return err
		}
	case len(c.Extend.DisabledRules) > 0:
		return errors.New("extend.disabledRules needs extend.useDefault")
	}
	if len(c.Rules) == 0 {
		return errors.New("it has no rules; with extend.useDefault it has the default ones")
	}
	return nil
}

// extend adds the default rules to those of a host, but for those that it disables. Of a rule
// that both have, each setting is the host's if it has one, and lists are joined.
func extend(c, defaults *config.ViperConfig) error {
	disabled := map[string]bool{}
	for _, id := range c.Extend.DisabledRules {
		disabled[id] = true
	}
	own := map[string]int{}
	for i := range c.Rules {
		own[c.Rules[i].ID] = i
	}
	for _, r := range defaults.Rules {
		if disabled[r.ID] {
			delete(disabled, r.ID)
			continue
		}
		i, ok := own[r.ID]
		if !ok {
			c.Rules = append(c.Rules, r)
			continue
		}
		o := &c.Rules[i]
		o.Description, o.Regex, o.Path = cmp.Or(o.Description, r.Description), cmp.Or(o.Regex, r.Regex), cmp.Or(o.Path, r.Path)
		o.Entropy, o.SecretGroup = cmp.Or(o.Entropy, r.Entropy), cmp.Or(o.SecretGroup, r.SecretGroup)
		o.Keywords, o.Allowlists = slices.Concat(r.Keywords, o.Keywords), slices.Concat(r.Allowlists, o.Allowlists)
	}
	for id := range disabled {
		return fmt.Errorf("extend.disabledRules names %q, which is no default rule", id)
	}
	c.Allowlists = slices.Concat(c.Allowlists, defaults.Allowlists)
	c.Extend = config.Extend{} // or gitleaks would do it again
	return nil
}

// compile makes of a configuration what gitleaks works with. What gitleaks leaves out once
// anybody in the process has extended a configuration its own way is done here.
func compile(c *config.ViperConfig) (compiled config.Config, err error) {
	defer recovered(&err)
	targets := make([][]string, len(c.Allowlists))
	for i, list := range c.Allowlists {
		targets[i], list.TargetRules = list.TargetRules, nil
	}
	if compiled, err = c.Translate(); err != nil {
		return compiled, err //nolint:wrapcheck // it says which rule
	}
	for _, r := range compiled.Rules {
		if err := r.Validate(); err != nil {
			return compiled, err //nolint:wrapcheck // it says which rule
		}
	}
	lists := compiled.Allowlists
	compiled.Allowlists = nil
	for i, list := range lists {
		if len(targets[i]) == 0 {
			compiled.Allowlists = append(compiled.Allowlists, list)
		}
		for _, id := range targets[i] {
			r, ok := compiled.Rules[id]
			if !ok {
				return compiled, fmt.Errorf("a list is for %q, which is no rule", id)
			}
			r.Allowlists = append(r.Allowlists, list)
			compiled.Rules[id] = r
		}
	}
	return compiled, nil
}

// recovered makes an error of a panic over an expression that does not compile.
func recovered(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("%v", r)
	}
}

// allow adds a list of values that are no secrets.
func allow(lists []*config.Allowlist, exprs []string) (longer []*config.Allowlist, err error) {
	defer recovered(&err)
	if len(exprs) == 0 {
		return lists, nil
	}
	var list config.Allowlist
	for _, expr := range exprs {
		re, err := stdregexp.Compile(expr)
		if err != nil {
			return nil, err //nolint:wrapcheck // it says all there is
		}
		if re.MatchString("") {
			return nil, fmt.Errorf("%q allows everything", expr)
		}
		// gitleaks joins them to one.
		list.Regexes = append(list.Regexes, regexp.MustCompile("(?:"+expr+")"))
	}
	if err := list.Validate(); err != nil {
		return nil, err //nolint:wrapcheck // as above
	}
	return append(lists, &list), nil
}
