package main

import (
	"fmt"
	"strings"

	"github.com/simba-go/simba"
	"github.com/spf13/cobra"
)

// policy is a flag with what follows when CMD ends. Without one, work that has succeeded
// is done.
type policy string

// policies are what the flag can say.
var policies = []struct {
	name    string
	policy  simba.Policy
	follows string
}{
	{"hold", simba.Hold, "holding the lease without CMD"},
	{"restart", simba.Restart, "running CMD again"},
	{"stepdown", simba.Yield, "contending again"},
}

func (p policy) given() bool { return p != "" }

// options are for the election that runs CMD.
func (p policy) options() []simba.RunOption {
	for _, known := range policies {
		if known.name == string(p) {
			return []simba.RunOption{simba.OnReturn(known.policy), simba.OnFailure(known.policy)}
		}
	}
	return []simba.RunOption{simba.OnReturn(simba.Finish), simba.OnFailure(simba.Yield)}
}

// follows says what comes next.
func (p policy) follows() string {
	for _, known := range policies {
		if known.name == string(p) {
			return known.follows
		}
	}
	return "contending again"
}

// Set implements [pflag.Value].
func (p *policy) Set(s string) error {
	for _, known := range policies {
		if strings.EqualFold(s, known.name) {
			*p = policy(known.name)
			return nil
		}
	}
	return fmt.Errorf("%q is not a policy; write hold, restart or stepdown", s)
}

// String implements [pflag.Value].
func (p *policy) String() string { return string(*p) }

// Type implements [pflag.Value].
func (p *policy) Type() string { return "policy" }

func completePolicy(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	var names []string
	for _, known := range policies {
		names = append(names, cobra.CompletionWithDesc(known.name, known.follows))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
